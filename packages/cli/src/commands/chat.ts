import { createInterface } from "node:readline";
import { statusOf } from "@skein/core";
import { type Await, isKnownError } from "@skein/protocol";
import type { Agent } from "skein";
import { counted } from "../terminal/counts.ts";
import { cost, tokens } from "../terminal/amounts.ts";
import type { Call } from "../terminal/command.ts";
import { EXIT } from "../terminal/exit-codes.ts";
import { sessionIdOf } from "../terminal/find-session.ts";
import { AGENT_OPTIONS, loadAgent } from "../terminal/load-agent.ts";
import {
  commandToGoOn,
  createRunPrinter,
  sayIfSimulated,
  sessionOf,
  summaryOf,
  waitLines,
} from "../terminal/print-run.ts";
import { asksFor, contentOf } from "../terminal/questions.ts";
import type { Screen } from "../terminal/screen.ts";
import { sessionCommand } from "../terminal/session-command.ts";
import type { STORE_OPTION } from "../terminal/shared-options.ts";
import { visible } from "../terminal/visible-text.ts";

const HELP = `  /cancel    End the run that is under way (Ctrl-C does the same)
  /fork      Go on in a copy of this conversation
  /cost      What it took so far
  /session   The id of this session
  /exit      Leave; a run that waits can be answered later
Text that you type while the model works is read before its next step.
`;

const OPTIONS = {
  ...AGENT_OPTIONS,
  session: { takes: "SESSION", short: "s", about: "Continue this session" },
} as const;

/** `skein chat`: a conversation in the terminal. */
export const chat = sessionCommand({
  name: "chat",
  summary: "Talk with an agent. Its questions, approvals and frontend tools are answered at the prompt.",
  options: OPTIONS,
  examples: ["skein chat", "skein chat --agent agents/deploy.ts", "skein chat --session 0199c8f1"],
  notes: "The exit code is 5 if a question is still open at the end.",
  run: converse,
});

async function converse(call: Call<typeof OPTIONS & typeof STORE_OPTION>): Promise<number> {
  const agent = await loadAgent(call, { asks: true });
  // A store that cannot be used is said before anybody has typed something.
  await agent.sessions().catch(async (error: unknown) => {
    await agent.close();
    throw error;
  });
  const input = createInterface({ input: process.stdin, output: process.stderr, terminal: call.screen.isWatched });
  // Whoever typed may have left (Ctrl-D, the end of a pipe) while a run was still under way.
  let left = false;
  input.once("close", () => (left = true));
  const conversation = createConversation(call.screen, agent, (text) => {
    if (left) return;
    // Only the last line belongs to the prompt: it is drawn anew, and would take with it what was said in between.
    const start = text.lastIndexOf("\n") + 1;
    call.screen.note(text.slice(0, start));
    input.setPrompt(text.slice(start));
    input.prompt(true);
  });
  input.on("SIGINT", () => {
    if (!conversation.cancel()) input.close();
  });
  try {
    sayIfSimulated(call.screen, call.config);
    call.screen.note(call.screen.paint.note.dim("/help lists what you can type.\n"));
    await conversation.begin(call.values.session);
    for await (const line of input) if ((await conversation.hear(line)) === "leave") break;
    await conversation.idle();
    const open = conversation.waitsFor();
    if (open.length === 0) return EXIT.completed;
    call.screen.note(`\n${waitLines(call.screen, open, call.values.store)}`);
    call.screen.note(`Then go on with it: ${commandToGoOn(call, "chat", conversation.sessionId() ?? "")}\n`);
    return EXIT.waits;
  } finally {
    input.close();
    await agent.close();
  }
}

/** What is typed means something else while the model works, while it waits for an answer, and while nothing happens. */
function createConversation(screen: Screen, agent: Agent, showPrompt: (line: string) => void) {
  const { note: paint } = screen.paint;
  let sessionId: string | undefined;
  let running: Promise<void> | undefined;
  let stop = new AbortController();
  let waits: readonly Await[] = [];
  let answers: string[] = [];
  /** Settled when the session of the run that was started is known. */
  let named: Promise<void> = Promise.resolve();
  /** Prompts that steer and may not have been read yet. */
  let steering: string[] = [];

  const say = (line: string): void => screen.note(`${line}\n`);
  const sessions = () => agent.sessions();

  /** Shows a run until it is over or waits, then asks for what comes next. */
  function watch(start: (signal: AbortSignal) => ReturnType<Agent["stream"]>): void {
    stop = new AbortController();
    let knowsName = (): void => {};
    named = new Promise((resolve) => (knowsName = resolve));
    running = show(start(stop.signal), knowsName)
      .catch((error: unknown) => {
        if (!isKnownError(error)) throw error;
        say(paint.red(visible(error.message)));
      })
      .finally(() => {
        knowsName();
        running = undefined;
        next();
      });
  }

  async function show(items: ReturnType<Agent["stream"]>, knowsName = (): void => {}): Promise<void> {
    const printer = createRunPrinter(screen);
    try {
      for await (const item of items) {
        sessionId ??= sessionOf(item);
        knowsName();
        printer.show(item);
      }
    } finally {
      printer.end();
    }
    if (sessionId === undefined) return;
    const state = await (await sessions()).state(sessionId);
    // What was typed too late to be read by that run has one of its own. A run that waits will read it later.
    if (state.queue.length > 0 && statusOf(state) !== "awaiting")
      return show(agent.follow(sessionId, { signal: stop.signal }));
    steering = [];
    await settle(sessionId);
  }

  async function settle(id: string): Promise<void> {
    const result = await agent.resume(id);
    waits = result.awaiting;
    answers = [];
    const [run] = (await (await sessions()).runs(id, { limit: 1 })).items;
    if (waits.length === 0 && run) screen.note(summaryOf(screen, run, result.error));
  }

  function next(): void {
    const [wait] = waits;
    showPrompt(wait ? (asksFor(screen, wait)[answers.length]?.text ?? "") : "> ");
  }

  /** One line of an answer; when it is the last one, the run goes on. */
  async function answer(wait: Await, line: string): Promise<void> {
    const asks = asksFor(screen, wait);
    const read = asks[answers.length]?.read(line);
    if (!read) return next();
    answers.push(read.content);
    if (answers.length < asks.length) return next();
    const content = contentOf(wait, answers);
    const said = await (
      await sessions()
    ).answer(wait.session_id, wait.tool_use_id, { content, isError: read.isError ?? false });
    if (said.disposition !== "accepted") say(paint.yellow(`${said.disposition}: ${visible(said.reason)}`));
    waits = waits.slice(1);
    answers = [];
    if (waits.length > 0) return next();
    watch((signal) => agent.follow(sessionId ?? "", { signal }));
  }

  async function steer(line: string): Promise<"leave" | void> {
    // Typed so soon that the session is only being made.
    await named;
    // The run is over in the meantime, or waits for an answer: then that is what was typed.
    if (!running || sessionId === undefined) return hear(line);
    const { runId } = await (await sessions()).prompt(sessionId, { content: line, mode: "steer" });
    steering.push(runId);
    say(paint.dim("It is read before the next step."));
  }

  function cancel(): boolean {
    if (running) void cancelRun().catch(() => undefined);
    else if (waits.length > 0) void cancelWait().catch(() => undefined);
    else return false;
    return true;
  }

  /** What was typed to steer the run goes with it. */
  async function cancelRun(): Promise<void> {
    const own = await sessions();
    for (const runId of steering) await own.cancel(sessionId ?? "", { runId }).catch(() => undefined);
    stop.abort();
  }

  async function cancelWait(): Promise<void> {
    say("");
    await (await sessions()).cancel(sessionId ?? "");
    waits = [];
    watch((signal) => agent.follow(sessionId ?? "", { signal }));
  }

  async function obey(line: string): Promise<"leave" | void> {
    const [word] = line.trim().split(/\s+/);
    if (word === "/exit" || word === "/quit") return "leave";
    if (word === "/help") screen.note(HELP);
    else if (word === "/cancel") {
      if (cancel()) return;
      say("Nothing is under way.");
    } else if (sessionId === undefined) say("Nothing was said yet.");
    else if (word === "/session") say(sessionId);
    else if (word === "/cost") {
      const session = await (await sessions()).get(sessionId);
      say(
        `${tokens(session.usage)} · ${cost(session.cost_micros, session.unpriced_calls)} · ${counted(session.total_runs, "run")}`,
      );
    } else if (word === "/fork" && running) {
      say("A run is under way. Fork when it is over, or /cancel it first.");
    } else if (word === "/fork") {
      const made = await (await sessions()).fork(sessionId);
      waits = [];
      sessionId = made.id;
      say(`Now in session ${made.id}, a copy. The other one stays as it is.`);
    } else say(`There is no ${visible(word ?? "")}. /help lists what you can type.`);
    if (!running) next();
  }

  async function hear(line: string): Promise<"leave" | void> {
    if (line.startsWith("/")) {
      await named;
      return obey(line);
    }
    if (running) return line.trim() === "" ? undefined : steer(line);
    const [wait] = waits;
    if (wait) return answer(wait, line);
    if (line.trim() === "") return next();
    watch((signal) => agent.stream(line, { signal, ...(sessionId !== undefined && { sessionId }) }));
  }

  return {
    cancel,
    hear,
    sessionId: (): string | undefined => sessionId,
    /** What is still to be answered, by whoever comes later. */
    waitsFor: (): readonly Await[] => waits,
    /** Goes on with a session, whatever it is doing, or waits for the first line. */
    async begin(word: string | undefined): Promise<void> {
      if (word === undefined) return next();
      const id = await sessionIdOf(await sessions(), word);
      const session = await (await sessions()).get(id);
      sessionId = id;
      if (session.status === "idle") return next();
      watch((signal) => agent.follow(id, { signal }));
    },
    /** Resolves when nothing is under way any more. */
    async idle(): Promise<void> {
      await running;
    },
  };
}
