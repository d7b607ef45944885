import { createInterface } from "node:readline";
import type { Call } from "../terminal/command.ts";
import { EXIT } from "../terminal/exit-codes.ts";
import { onInterrupt } from "../terminal/interrupts.ts";
import { AGENT_OPTIONS, loadAgent } from "../terminal/load-agent.ts";
import { commandToGoOn, sayIfSimulated, waitLines } from "../terminal/print-run.ts";
import { sessionCommand } from "../terminal/session-command.ts";
import type { PLACE_OPTIONS } from "../terminal/shared-options.ts";
import { visible } from "../terminal/visible-text.ts";
import { createConversation } from "./chat/conversation.ts";
import { createTypedInput } from "./chat/typed-input.ts";

const OPTIONS = {
  ...AGENT_OPTIONS,
  session: { takes: "SESSION", short: "s", about: "Continue this session" },
} as const;

/** `skein chat`: a conversation in the terminal. */
export const chat = sessionCommand({
  name: "chat",
  summary: "Chat with an agent. You answer its questions, approvals and frontend tools at the prompt.",
  options: OPTIONS,
  examples: ["skein chat", "skein chat --agent agents/deploy.ts", "skein chat --session 0199c8f1"],
  notes:
    "A paste is one prompt. Alt-Enter or Ctrl-J begins a new line of a prompt. If the input is not a terminal, each line waits for the answer to the line before. The exit code is 5 if a question is still open at the end.",
  run: converse,
});

async function converse(call: Call<typeof OPTIONS & typeof PLACE_OPTIONS>): Promise<number> {
  const { screen, values } = call;
  const agent = await loadAgent(call, { asks: true });
  // An unusable store is reported before anybody types a prompt.
  await agent.sessions().catch(async (error: unknown) => {
    await agent.close();
    throw error;
  });
  const isPiped = !process.stdin.isTTY;
  const typed = !isPiped && screen.isWatched ? createTypedInput(process.stdin, process.stderr) : undefined;
  const source = typed?.stream ?? process.stdin;
  const input = createInterface({ input: source, output: process.stderr, terminal: screen.isWatched && !isPiped });
  // The user may have left (Ctrl-D) while a run was in progress.
  let left = false;
  if (!isPiped) input.once("close", () => (left = true));
  /** Whether the last text on stderr is a prompt, without the end of its line. */
  let asking = false;
  const showPrompt = (text: string): void => {
    if (left) return;
    asking = true;
    if (isPiped) return screen.note(text);
    // Only the last line becomes readline's prompt. Readline redraws its prompt, and a prompt of several lines would
    // overwrite the output above it.
    const start = text.lastIndexOf("\n") + 1;
    screen.note(text.slice(0, start));
    input.setPrompt(text.slice(start));
    input.prompt(true);
  };
  let stopListening = (): void => {};
  const conversation = createConversation({ screen, agent, showPrompt, folder: values.tools ?? "." });
  input.on("SIGINT", () => {
    if (!conversation.cancel()) input.close();
  });
  try {
    sayIfSimulated(screen, call.config, values);
    if (!isPiped) screen.note(screen.paint.note.dim("/help lists what you can type.\n"));
    await conversation.begin(values.session);
    for await (const line of input) {
      if (isPiped) {
        // The lines of a pipe were written before there were answers, so a line is not meant for the run in progress.
        if (line.trim() !== "/cancel") await conversation.idle();
        screen.note(`${visible(line)}\n`);
      }
      asking = false;
      if ((await conversation.hear(typed ? typed.expand(line) : line)) === "leave") break;
    }
    left = true;
    if (conversation.isRunning() && !isPiped) {
      screen.note("\nThe chat ends when this run is over. Ctrl-C cancels the run.\n");
      stopListening = onInterrupt(screen, () => void conversation.cancel());
    }
    await conversation.idle();
    const open = conversation.waitsFor();
    if (open.length === 0) {
      if (asking) screen.note("\n");
      return EXIT.completed;
    }
    screen.note(`\n${waitLines(screen, open, values)}`);
    screen.note(`Then continue the session: ${commandToGoOn(call, "chat", conversation.sessionId() ?? "")}\n`);
    return EXIT.waits;
  } finally {
    stopListening();
    input.close();
    typed?.close();
    await agent.close();
  }
}
