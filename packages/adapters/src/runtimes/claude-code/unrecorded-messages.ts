import { isToolUse, type Fact } from "@skein/protocol";
import type { ClaudeMessage, PendingMessage } from "./sdk-messages.ts";

/** Messages and transcript entries of a child (a process of Claude Code) that are not in the log yet. */
export interface UnrecordedMessages {
  addMessages(messages: readonly PendingMessage[]): void;
  addTranscript(facts: readonly Fact[]): void;
  /** True if the messages contain the end of the run. */
  readonly hasEnded: boolean;
  /**
   * True if the last message is a final answer and has all its entries. The end of the run then follows immediately.
   */
  readonly isLastAnswer: boolean;
  /** Removes and returns the transcript entries, and all messages before the first message with missing entries. */
  take(): { readonly transcript: readonly Fact[]; readonly ready: readonly ClaudeMessage[] };
  /** Removes and returns the remaining messages. A resumed child will not know them. */
  takeLost(): readonly ClaudeMessage[];
}

/** Uses `stored`, the uuids of entries in the log or in the next append, to decide which messages are ready. */
export function createUnrecordedMessages(stored: ReadonlySet<string>): UnrecordedMessages {
  let messages: PendingMessage[] = [];
  let transcript: Fact[] = [];
  const isUnstored = ({ uuids }: PendingMessage): boolean => uuids.some((uuid) => !stored.has(uuid));
  return {
    addMessages: (more) => void messages.push(...more),
    addTranscript: (facts) => void transcript.push(...facts),
    get hasEnded() {
      return messages.some(({ message }) => message.kind === "ended");
    },
    get isLastAnswer() {
      const last = messages.at(-1)?.message;
      const asksForNothing = last?.kind === "reply" && !last.content.some(isToolUse);
      return asksForNothing && !messages.some(isUnstored);
    },
    take() {
      const first = messages.findIndex(isUnstored);
      const ready = first === -1 ? messages : messages.slice(0, first);
      const taken = { transcript, ready: ready.map(({ message }) => message) };
      messages = first === -1 ? [] : messages.slice(first);
      transcript = [];
      return taken;
    },
    takeLost() {
      const lost = messages.map(({ message }) => message);
      messages = [];
      return lost;
    },
  };
}
