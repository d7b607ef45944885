import type { Content } from "@skein/protocol";
import type { SDKUserMessage } from "@anthropic-ai/claude-agent-sdk";

/**
 * Returns a message of the user. With `next`, the current turn reads the message together with the next tool result.
 */
export function userMessage(uuid: string, content: Content, priority?: "next"): SDKUserMessage {
  return {
    ...(priority && { priority }),
    type: "user",
    uuid: uuid as ReturnType<typeof crypto.randomUUID>,
    parent_tool_use_id: null,
    message: { role: "user", content: content as string },
  };
}

/** Creates a queue of messages for a child, in the SDK's format. */
export function createInbox() {
  const waiting: SDKUserMessage[] = [];
  let over = false;
  let wake = (): void => {};
  return {
    put(message: SDKUserMessage): void {
      waiting.push(message);
      wake();
    },
    end(): void {
      over = true;
      wake();
    },
    async *messages(): AsyncGenerator<SDKUserMessage> {
      for (;;) {
        const next = waiting.shift();
        if (next) yield next;
        else if (over) return;
        else await new Promise<void>((resolve) => void (wake = resolve));
      }
    },
  };
}
