import { text as readAll } from "node:stream/consumers";
import { type Draft, type Event, isKnownError } from "@skein/protocol";
import type { Format } from "@skein/core";
import type { Agent, RunOptions } from "../agent.ts";
import { EXIT, UsageError } from "../terminal/exit.ts";
import { onInterrupt } from "../terminal/interrupts.ts";
import { AGENT_OPTIONS, loadAgent } from "../terminal/load-agent.ts";
import { commandToGoOn, createRunPrinter, summaryOf, waitLines } from "../terminal/print-run.ts";
import type { Screen } from "../terminal/screen.ts";
import {
  type Call,
  JSON_OPTION,
  STORE_OPTION,
  type SessionCommand,
  runCommand,
  text,
} from "../terminal/session-command.ts";
import { visible } from "../terminal/visible.ts";

/** `skein run`: one prompt to its end, shown as it happens. */
const command: SessionCommand = {
  name: "run",
  words: '"PROMPT"',
  summary: "Run one prompt and show it as it happens. The answer goes to stdout, everything about it to stderr.",
  options: [
    ...AGENT_OPTIONS,
    ["session", "ID", "Go on with this session; without a prompt, with the run that is under way in it"],
    ["max-cost", "DOLLARS", "What this run may cost at most"],
    [
      "format",
      "json|xml|raw",
      "The text form of the stream: seed 002's envelopes, tagged blocks, or the API's own events",
    ],
    JSON_OPTION,
    STORE_OPTION,
  ],
  examples: [
    'skein run "How much is 2+2?"',
    "git diff | skein run - --system 'Review this change.'",
    'skein run "And in French?" --session 0199c8f1-… --max-cost 0.05',
    'skein run "Deploy it" --agent agents/deploy.ts --store postgres://localhost/skein',
    'skein run "List the files" --json | jq -r .event_type',
  ],
  run: runPrompt,
};

export function run(args: readonly string[]): Promise<number> {
  return runCommand(command, args);
}

async function runPrompt(call: Call): Promise<number> {
  const { values, screen, config } = call;
  const sessionId = text(values, "session");
  const maxCostMicros = micros(text(values, "max-cost"));
  const prompt = await promptOf(call, sessionId);
  const format = formatOf(values, prompt);
  const agent = await loadAgent(call);
  const stop = new AbortController();
  const stopListening = onInterrupt(screen, () => stop.abort());
  // The run below is told, and ends the command; a tool that does not listen must not keep it from doing so.
  const end = (): void => void setTimeout(() => process.exit(EXIT.terminated), 1000).unref();
  const endSoon = (): void => void agent.close().finally(end);
  process.once("SIGTERM", endSoon);
  try {
    sayIfSimulated(screen, config);
    const options = {
      signal: stop.signal,
      ...(sessionId !== undefined && { sessionId }),
      ...(maxCostMicros !== undefined && { maxCostMicros }),
    };
    const shown =
      format === undefined
        ? await printItems(
            call,
            prompt === undefined ? agent.follow(sessionId ?? "", options) : agent.stream(prompt, options),
          )
        : await printText(call, agent, { prompt: prompt ?? "", format, ...options });
    return await conclude(call, agent, shown ?? sessionId ?? "");
  } catch (error) {
    const left = isKnownError(error, "closed") ? error.details?.["session_id"] : undefined;
    if (typeof left !== "string") throw error;
    screen.note(`Stopped before its end. Go on with it: ${commandToGoOn(call, "run", left)}\n`);
    return EXIT.terminated;
  } finally {
    stopListening();
    process.off("SIGTERM", endSoon);
    await agent.close();
  }
}

const FORMATS = ["json", "xml", "raw"] as const;

function formatOf(values: Call["values"], prompt: string | undefined): Format | undefined {
  const given = text(values, "format");
  if (given === undefined) return undefined;
  const format = FORMATS.find((known) => known === given);
  if (!format) throw new UsageError(`--format expects ${FORMATS.join(", ")}, and got "${given}".`);
  if (prompt === undefined) throw new UsageError("--format needs a prompt.");
  return format;
}

/** The stream as text for a program; on a terminal what would act on it is shown instead. Answers its session. */
async function printText(
  { screen }: Call,
  agent: Agent,
  { prompt, ...options }: RunOptions & { readonly prompt: string; readonly format: Format },
): Promise<string | undefined> {
  let sessionId: string | undefined;
  const pieces = agent.text(prompt, { ...options, onEvent: (event) => (sessionId ??= event.session_id) });
  // Frames are a line each; XML brings its own lines.
  const ending = options.format === "xml" ? "" : "\n";
  for await (const piece of pieces) screen.out(`${process.stdout.isTTY ? visible(piece) : piece}${ending}`);
  return sessionId;
}

/** Without a key nobody should take the answers for a model's. */
export function sayIfSimulated(screen: Screen, config: Call["config"]): void {
  if (config.anthropicApiKey === undefined && config.anthropicBaseUrl === undefined)
    screen.note(screen.paint.note.dim("No ANTHROPIC_API_KEY is set: the model is a simulation.\n"));
}

function printItems({ screen, values }: Call, items: AsyncIterable<Event | Draft>): Promise<string | undefined> {
  return values["json"] === true ? printJson(screen, items) : print(screen, items);
}

/** Shows every item; answers the session that they belong to. */
export async function print(screen: Screen, items: AsyncIterable<Event | Draft>): Promise<string | undefined> {
  const printer = createRunPrinter(screen);
  let sessionId: string | undefined;
  try {
    for await (const item of items) {
      printer.show(item);
      sessionId ??= "session_id" in item ? item.session_id : item.data.session_id;
    }
  } finally {
    printer.end();
  }
  return sessionId;
}

async function printJson(screen: Screen, items: AsyncIterable<Event | Draft>): Promise<string | undefined> {
  let sessionId: string | undefined;
  for await (const item of items) {
    screen.json(item);
    sessionId ??= "session_id" in item ? item.session_id : item.data.session_id;
  }
  return sessionId;
}

/** The last line, and the exit code that says the same. */
async function conclude(call: Call, agent: Agent, sessionId: string): Promise<number> {
  const { screen, values } = call;
  const result = await agent.resume(sessionId);
  const { items } = await (await agent.sessions()).runs(sessionId, { limit: 50 });
  const run = items.find(({ id }) => id === result.runId);
  if (run) screen.note(summaryOf(screen, run, result.error));
  if (result.awaiting.length > 0) {
    screen.note(waitLines(screen, result.awaiting, text(values, "store")));
    screen.note(`Then go on with it: ${commandToGoOn(call, "run", sessionId)}\n`);
    return EXIT.waits;
  }
  if (result.stopReason === "cancelled") return EXIT.cancelled;
  return result.error ? EXIT.failed : EXIT.completed;
}

/** What to say: the words, stdin for `-`, or nothing when a session is only to go on. */
async function promptOf({ words, screen }: Call, sessionId: string | undefined): Promise<string | undefined> {
  if (words.length > 1) throw new UsageError(`Expected one prompt, and got ${words.length} words. Put it in quotes.`);
  const [word] = words;
  if (word === "-") {
    const done = screen.progress("Reading the prompt from stdin");
    return readAll(process.stdin).finally(done);
  }
  if (word === undefined && sessionId === undefined) throw new UsageError("There is no prompt.");
  return word;
}

function micros(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const dollars = Number(given.replace(/^\$/, ""));
  if (given.trim() === "" || !Number.isFinite(dollars) || dollars < 0)
    throw new UsageError(`--max-cost expects dollars, for example 0.05, and got "${given}".`);
  return Math.round(dollars * 1e6);
}
