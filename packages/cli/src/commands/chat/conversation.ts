import { statusOf } from "@skein/core";
import { type Await, type Message, isKnownError } from "@skein/protocol";
import type { Answerer } from "../../sessions/session-calls.ts";
import { counted } from "../../terminal/counts.ts";
import { cost, tokens } from "../../terminal/amounts.ts";
import { CommandError } from "../../terminal/exit-codes.ts";
import { sessionIdOf } from "../../terminal/find-session.ts";
import { messageText } from "../../terminal/message-text.ts";
import { createRunPrinter, sessionOf, summaryOf } from "../../terminal/print-run.ts";
import { asksFor, contentOf } from "../../terminal/questions.ts";
import type { Screen } from "../../terminal/screen.ts";
import { visible, visibleLine } from "../../terminal/visible-text.ts";
import { editPreview } from "./edit-preview.ts";

const HELP = `  /cancel    Cancel the current run (Ctrl-C does the same)
  /fork      Continue in a copy of this conversation
  /cost      Tokens and cost so far
  /session   The id of this session
  /exit      Leave; a run that waits can be answered later
A paste is one prompt. Alt-Enter or Ctrl-J begins a new line.
Text that you type while the model works is read before its next step.
`;

/** How many earlier messages of a continued session are shown. */
const MOST_BEFORE = 20;

interface ConversationDeps {
  readonly screen: Screen;
  readonly agent: Answerer;
  /** Asks for the next line. */
  showPrompt(text: string): void;
  /** The folder whose files the tools of this process edit. */
  readonly folder: string;
}

/**
 * Handles typed lines. The meaning of a line depends on whether the model works, a question waits for an answer, or no
 * run is in progress.
 */
export function createConversation({ screen, agent, showPrompt, folder }: ConversationDeps) {
  const { note: paint } = screen.paint;
  let sessionId: string | undefined;
  let running: Promise<void> | undefined;
  let stop = new AbortController();
  let waits: readonly Await[] = [];
  let answers: string[] = [];
  /** Resolves when the session of the started run has an id. */
  let named: Promise<void> = Promise.resolve();
  /** Tools that may run without approval in this conversation. */
  const allowed = new Set<string>();
  /**
   * The run ids of prompts that were typed during a run (steering prompts). The model may not have read these prompts
   * yet.
   */
  let steering: string[] = [];

  const say = (line: string): void => screen.note(`${line}\n`);
  const sessions = () => agent.sessions();

  /** Shows a run until it ends or waits, then asks for the next line. */
  function watch(start: (signal: AbortSignal) => ReturnType<Answerer["stream"]>): void {
    stop = new AbortController();
    let knowsName = (): void => {};
    named = new Promise((resolve) => (knowsName = resolve));
    running = show(start(stop.signal), knowsName)
      .catch((error: unknown) => {
        if (!isKnownError(error) && !(error instanceof CommandError)) throw error;
        say(paint.red(visible(error.message)));
      })
      .finally(() => {
        knowsName();
        running = undefined;
        next();
      });
  }

  async function show(items: ReturnType<Answerer["stream"]>, knowsName = (): void => {}): Promise<void> {
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
    // If the run ended before it read a prompt, the prompt gets a new run. A waiting run will still read the prompt.
    if (state.queue.length > 0 && statusOf(state) !== "awaiting")
      return show(agent.follow(sessionId, { signal: stop.signal }));
    steering = [];
    await settle(sessionId);
  }

  async function settle(id: string): Promise<void> {
    const result = await agent.resume(id);
    waits = result.awaiting;
    answers = [];
    const own = await sessions();
    const isAllowed = ({ kind, name }: Await): boolean => kind === "approval" && allowed.has(name);
    for (const { session_id, tool_use_id } of waits.filter(isAllowed))
      await own.answer(session_id, tool_use_id, { content: "yes", isError: false });
    const wasAllowed = waits.some(isAllowed);
    waits = waits.filter((wait) => !isAllowed(wait));
    if (wasAllowed && waits.length === 0) return show(agent.follow(id, { signal: stop.signal }));
    const [run] = (await own.runs(id, { limit: 1 })).items;
    if (waits.length === 0 && run) screen.note(summaryOf(screen, run, result.error));
  }

  function next(): void {
    const [wait] = waits;
    if (!wait) return showPrompt("> ");
    const changes =
      wait.kind === "approval" ? editPreview(wait, { folder, paint, columns: screen.noteColumns ?? 100 }) : "";
    showPrompt(changes + (asksFor(screen, wait)[answers.length]?.text ?? ""));
  }

  /** Reads one typed line of an answer. After the last line of the answer, the run continues. */
  async function answer(wait: Await, line: string): Promise<void> {
    const asks = asksFor(screen, wait);
    const read = asks[answers.length]?.read(line);
    if (!read) return next();
    answers.push(read.content);
    if (read.isForAll) {
      allowed.add(wait.name);
      say(paint.dim(`${visibleLine(wait.name)} is allowed in this conversation from now on.`));
    }
    if (answers.length < asks.length) return next();
    const content = contentOf(wait, answers);
    const said = await (
      await sessions()
    ).answer(wait.session_id, wait.tool_use_id, { content, isError: read.isError ?? false });
    if (said.disposition !== "accepted") say(paint.yellow(`${said.disposition}: ${visible(said.reason)}`));
    waits = waits.slice(1);
    answers = [];
    const [following] = waits;
    if (following?.kind === "approval" && allowed.has(following.name)) return answer(following, "yes");
    if (waits.length > 0) return next();
    watch((signal) => agent.follow(sessionId ?? "", { signal }));
  }

  async function steer(line: string): Promise<"leave" | void> {
    // The session of the run may not have an id yet.
    await named;
    // If the run has ended, the line is a new prompt. If the run waits, the line is the answer.
    if (!running || sessionId === undefined) return hear(line);
    const { runId } = await (await sessions()).prompt(sessionId, { content: line, mode: "steer" });
    steering.push(runId);
    say(paint.dim("The model reads this before the next step."));
  }

  function cancel(): boolean {
    if (running) void cancelRun().catch(() => undefined);
    else if (waits.length > 0) void cancelWait().catch(() => undefined);
    else return false;
    return true;
  }

  /** Cancels the run and its steering prompts. */
  async function cancelRun(): Promise<void> {
    const own = await sessions();
    for (const runId of steering) await own.cancel(sessionId ?? "", { runId }).catch(() => undefined);
    stop.abort("The user cancelled the run.");
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
      say("No run is in progress.");
    } else if (sessionId === undefined) say("There are no messages yet.");
    else if (word === "/session") say(sessionId);
    else if (word === "/cost") {
      const session = await (await sessions()).get(sessionId);
      say(
        `${tokens(session.usage)} · ${cost(session.cost_micros, session.unpriced_calls)} · ${counted(session.total_runs, "run")}`,
      );
    } else if (word === "/fork" && running) {
      say("A run is in progress. Wait until it ends or /cancel it, then /fork.");
    } else if (word === "/fork") {
      const made = await (await sessions()).fork(sessionId);
      waits = [];
      sessionId = made.id;
      say(`Now in session ${made.id}, a copy. The original session is not changed.`);
    } else say(`Unknown command ${visible(word ?? "")}. /help lists the commands.`);
    if (!running) next();
  }

  async function hear(line: string): Promise<"leave" | void> {
    // A path at the beginning of a pasted text is not a command.
    if (line.startsWith("/") && !line.includes("\n")) {
      await named;
      return obey(line);
    }
    if (running) return line.trim() === "" ? undefined : steer(line);
    const [wait] = waits;
    if (wait) return answer(wait, line);
    if (line.trim() === "") return next();
    watch((signal) => agent.stream(line, { signal, ...(sessionId !== undefined && { sessionId }) }));
  }

  function sayBefore(id: string, transcript: readonly Message[]): void {
    const hidden = transcript.length - MOST_BEFORE;
    if (hidden > 0) say(paint.dim(`To read ${counted(hidden, "earlier message")}: skein sessions show ${id}`));
    for (const message of transcript.slice(-MOST_BEFORE)) screen.note(messageText(paint, message));
    if (transcript.length > 0) say("");
  }

  return {
    cancel,
    hear,
    isRunning: (): boolean => running !== undefined,
    sessionId: (): string | undefined => sessionId,
    /** The questions, approvals and frontend tools that still wait for an answer. */
    waitsFor: (): readonly Await[] => waits,
    /** Continues the session that `word` names. If `word` is undefined, asks for the first line. */
    async begin(word: string | undefined): Promise<void> {
      if (word === undefined) return next();
      const id = await sessionIdOf(await sessions(), word);
      const session = await (await sessions()).get(id);
      sessionId = id;
      // A session that cannot be continued here is reported before anybody types a prompt.
      if (session.status === "idle" && session.total_runs > 0) await agent.resume(id);
      sayBefore(id, await (await sessions()).transcript(id));
      if (session.status === "idle") return next();
      watch((signal) => agent.follow(id, { signal }));
    },
    /** Resolves when no run is in progress. */
    async idle(): Promise<void> {
      await running;
    },
  };
}
