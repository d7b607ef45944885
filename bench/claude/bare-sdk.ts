import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Options, type SDKUserMessage, query } from "@anthropic-ai/claude-agent-sdk";

/** A session of the Claude Agent SDK without Skein, with the options that the server uses. */
export interface BareSession {
  /** Sends a prompt and waits for the result. Returns the times of the first message and of the result. */
  turn(prompt: string, onFirst?: () => void): Promise<{ readonly first: number; readonly end: number }>;
  close(): void;
}

export function bareSession(folder: string, apiUrl: string, more: Options = {}): BareSession {
  const cwd = join(folder, "work");
  mkdirSync(cwd, { recursive: true });
  const inbox: SDKUserMessage[] = [];
  let wake = (): void => {};
  let over = false;
  async function* messages(): AsyncGenerator<SDKUserMessage> {
    for (;;) {
      const next = inbox.shift();
      if (next) yield next;
      else if (over) return;
      else await new Promise<void>((resolve) => void (wake = resolve));
    }
  }
  const running = query({
    prompt: messages(),
    options: {
      cwd,
      permissionMode: "default",
      settingSources: [],
      includePartialMessages: true,
      env: {
        PATH: process.env["PATH"],
        LANG: "C.UTF-8",
        HOME: folder,
        TMPDIR: folder,
        CLAUDE_CONFIG_DIR: join(folder, "config"),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
        ANTHROPIC_BASE_URL: apiUrl,
        ANTHROPIC_API_KEY: "sk-ant-api03-dummy-not-a-key",
      },
      ...more,
    },
  });
  const iterator = running[Symbol.asyncIterator]();
  function begin(prompt: string): void {
    inbox.push({
      type: "user",
      uuid: crypto.randomUUID(),
      parent_tool_use_id: null,
      message: { role: "user", content: prompt },
    });
    wake();
  }
  return {
    async turn(prompt, onFirst = () => {}) {
      const started = performance.now();
      let first = 0;
      begin(prompt);
      for (;;) {
        const { value, done } = await iterator.next();
        if (done) throw new Error("The bare session ended before its turn did.");
        if (value.type === "system" && value.subtype === "init" && first === 0) {
          first = performance.now() - started;
          onFirst();
        }
        if (value.type === "result") return { first, end: performance.now() - started };
      }
    },
    close() {
      over = true;
      wake();
      running.close();
    },
  };
}
