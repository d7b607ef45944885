import { text as readAll } from "node:stream/consumers";
import { type Content, type Draft, type Event, type Format, isKnownError } from "@skein/protocol";
import type { AgentOptions, RunOptions } from "skein";
import type { Answerer } from "../sessions/session-calls.ts";
import type { Call } from "../terminal/command.ts";
import { sessionIdOf } from "../terminal/find-session.ts";
import { EXIT, UsageError } from "../terminal/exit-codes.ts";
import { onInterrupt } from "../terminal/interrupts.ts";
import { dollars, oneOf } from "../terminal/option-kinds.ts";
import { AGENT_OPTIONS, loadAgent } from "../terminal/load-agent.ts";
import {
  commandToGoOn,
  createRunPrinter,
  print,
  printJson,
  SIMULATED_BY_SERVER,
  sayIfSimulated,
  sessionOf,
  summaryOf,
  waitLines,
} from "../terminal/print-run.ts";
import { withAttachments } from "../terminal/attachments.ts";
import { outputSchemaIn } from "../terminal/output-schema.ts";
import { tellingPlace } from "../terminal/queue-notes.ts";
import { sessionCommand } from "../terminal/session-command.ts";
import { JSON_OPTION, type PLACE_OPTIONS } from "../terminal/shared-options.ts";
import { visible } from "../terminal/visible-text.ts";

const OPTIONS = {
  ...AGENT_OPTIONS,
  session: {
    takes: "SESSION",
    short: "s",
    about: "Continue this session. Without a prompt: continue its unfinished run",
  },
  "max-cost": { takes: "DOLLARS", kind: dollars, about: "The most that this run may cost" },
  format: {
    takes: "FORMAT",
    short: "F",
    kind: oneOf("json", "xml", "raw"),
    about: "Write the stream as json (envelopes), xml (tagged blocks) or raw (the events of the model's API)",
  },
  attach: {
    takes: "FILE[,FILE]",
    about: "Files that the model reads with the prompt: images (png, jpg, gif, webp), PDFs, texts",
  },
  "output-schema": {
    takes: "FILE",
    about: "A JSON Schema for the answers of a new session: stdout gets a valid answer as one line of JSON",
  },
  json: JSON_OPTION,
} as const;

type RunCall = Call<typeof OPTIONS & typeof PLACE_OPTIONS>;

/** `skein run`: runs one prompt to its end, and shows the run live. */
export const run = sessionCommand({
  name: "run",
  words: '["PROMPT"]',
  summary: "Run one prompt and show it live. The answer goes to stdout, everything else to stderr.",
  options: OPTIONS,
  examples: [
    'skein run "How much is 2+2?"',
    "git diff | skein run - --system 'Review this change.'",
    'skein run "And in French?" --session 0199c8f1 --max-cost 0.05',
    'skein run "Deploy it" --agent deploy.ts --store postgres://localhost/skein',
    'skein run "List the files" --json | jq -r .event_type',
    'skein run "What is in this picture?" --attach photo.jpg',
    "skein run - --output-schema invoice.json < invoice.txt | jq .total",
  ],
  notes: "A run that waits for an answer ends with exit code 5.",
  run: runPrompt,
});

async function runPrompt(call: RunCall): Promise<number> {
  const { values, screen, config } = call;
  const { "max-cost": maxCostMicros, format } = values;
  const prompt = await promptOf(call);
  if (format !== undefined && values.json) throw new UsageError("--json and --format cannot be used together.");
  if (format !== undefined && prompt === undefined) throw new UsageError("--format needs a prompt.");
  const output = outputOf(call);
  const agent = await loadAgent(call, { output });
  const stop = new AbortController();
  const stopListening = onInterrupt(screen, () => stop.abort("The user pressed Ctrl-C."));
  let isUnread = false;
  // If nobody reads the output, the run is cancelled. Without the cancel, the next process on this store would continue
  // the run.
  screen.onUnread(() => {
    isUnread = true;
    stop.abort("Nobody reads the output.");
  });
  // Closing the agent leaves the run unfinished and ends the command. If a tool keeps the process alive, the process
  // ends 1 s later.
  const end = (): void => void setTimeout(() => process.exit(EXIT.terminated), 1000).unref();
  const endSoon = (): void => void agent.close().finally(end);
  process.once("SIGTERM", endSoon);
  try {
    const sessionId =
      values.session === undefined ? undefined : await sessionIdOf(await agent.sessions(), values.session);
    sayIfSimulated(screen, config, values);
    const options = {
      signal: stop.signal,
      ...(sessionId !== undefined && { sessionId }),
      ...(maxCostMicros !== undefined && { maxCostMicros }),
    };
    const shown =
      format === undefined
        ? await (values.json ? printJson : print)(
            // Only an answer that fits the schema is written to stdout.
            output && !values.json ? { ...screen, out: () => {} } : screen,
            tellingPlace(
              tellingSession(
                call,
                prompt === undefined ? agent.follow(sessionId ?? "", options) : agent.stream(prompt, options),
              ),
              { screen, get: async (id) => (await agent.sessions()).get(id) },
            ),
          )
        : await printText(call, agent, { prompt: prompt ?? "", format, ...options });
    const isOver = shown === undefined && prompt === undefined && !values.json;
    const code = await conclude(call, agent, { sessionId: shown ?? sessionId ?? "", isOver });
    return isUnread ? EXIT.completed : code;
  } catch (error) {
    const left = isKnownError(error, "closed") ? error.details?.["session_id"] : undefined;
    if (typeof left !== "string") throw error;
    screen.note(`The run is not finished. To continue it: ${commandToGoOn(call, "run", left)}\n`);
    return EXIT.terminated;
  } finally {
    stopListening();
    process.off("SIGTERM", endSoon);
    await agent.close();
  }
}

/** Yields the items unchanged, and shows the session id of the first item. */
async function* tellingSession(call: RunCall, items: AsyncIterable<Event | Draft>): AsyncGenerator<Event | Draft> {
  let isTold = false;
  for await (const item of items) {
    if (!isTold) noteSession(call, sessionOf(item));
    isTold = true;
    yield item;
  }
}

/**
 * Shows the id of a new session on a server, so that other people can open the session during the run. With --json, the
 * events already have the id.
 */
function noteSession({ values, screen }: RunCall, id: string): void {
  if (values.server === undefined || values.session !== undefined || values.json) return;
  screen.note(screen.paint.note.dim(`Session ${id}\n`));
}

/**
 * Prints the stream as text for a program. On a terminal, control characters are shown as escapes. Returns the id of
 * the session.
 */
async function printText(
  call: RunCall,
  agent: Answerer,
  { prompt, ...options }: RunOptions & { readonly prompt: Content; readonly format: Format },
): Promise<string | undefined> {
  const { screen } = call;
  let sessionId: string | undefined;
  const onEvent = (event: Event): void => {
    if (sessionId === undefined) noteSession(call, event.session_id);
    sessionId ??= event.session_id;
  };
  const pieces = agent.text(prompt, { ...options, onEvent });
  // Each frame is a line. XML frames already contain line breaks.
  const ending = options.format === "xml" ? "" : "\n";
  for await (const piece of pieces) screen.out(`${process.stdout.isTTY ? visible(piece) : piece}${ending}`);
  return sessionId;
}

/** Prints how the run ended or what it waits for, and returns the matching exit code. */
async function conclude(
  call: RunCall,
  agent: Answerer,
  { sessionId, isOver }: { readonly sessionId: string; readonly isOver: boolean },
): Promise<number> {
  const { screen, values } = call;
  const result = await agent.resume(sessionId);
  const { items } = await (await agent.sessions()).runs(sessionId, { limit: 50 });
  const run = items.find(({ id }) => id === result.runId);
  if (isOver && result.awaiting.length === 0) await showLastAnswer(call, agent, { sessionId, runId: result.runId });
  if (run && run.simulated_calls > 0 && values.server !== undefined)
    screen.note(screen.paint.note.dim(`${SIMULATED_BY_SERVER}\n`));
  if (run) screen.note(summaryOf(screen, run, result.error));
  if (result.awaiting.length > 0) {
    screen.note(waitLines(screen, result.awaiting, values));
    const then = values.server === undefined ? "Then continue the session" : "The server then continues. To watch it";
    screen.note(`${then}: ${commandToGoOn(call, "run", sessionId)}\n`);
    return EXIT.waits;
  }
  if (result.stopReason === "cancelled") return EXIT.cancelled;
  const isAlone = values["output-schema"] !== undefined && !values.json && values.format === undefined;
  if (isAlone && result.output) screen.out(`${JSON.stringify(result.output)}\n`);
  return result.error ? EXIT.failed : EXIT.completed;
}

/** Returns the JSON Schema for answers of a new session, or undefined without `--output-schema`. */
function outputOf({ values }: RunCall): AgentOptions["output"] {
  const { "output-schema": file, session } = values;
  if (file === undefined) return undefined;
  if (session !== undefined)
    throw new UsageError(
      "--output-schema cannot be used with --session: a session keeps the schema with which it began.",
    );
  return outputSchemaIn(file);
}

/** Shows the final answer of a session that has no unfinished run. */
async function showLastAnswer(
  { screen }: RunCall,
  agent: Answerer,
  { sessionId, runId }: { readonly sessionId: string; readonly runId: string },
): Promise<void> {
  const events = await (await agent.sessions()).events(sessionId);
  const answer = events.findLast((event) => event.event_type === "step.generated" && event.data.run_id === runId);
  const printer = createRunPrinter(screen);
  if (answer) printer.show(answer);
  printer.end();
}

/** Returns the prompt from the words, or from stdin for `-`. Returns undefined to only continue a session. */
async function promptOf(call: RunCall): Promise<Content | undefined> {
  const text = await wordsOf(call);
  const { attach } = call.values;
  if (attach === undefined) return text;
  if (text === undefined) throw new UsageError("--attach needs a prompt: say what the model should do with the files.");
  return withAttachments(text, attach.split(","));
}

async function wordsOf({ words, values, screen }: RunCall): Promise<string | undefined> {
  const [word] = words;
  if (word === "-") {
    const done = screen.progress("Reading the prompt from stdin");
    return readAll(process.stdin).finally(done);
  }
  if (word?.trim() === "" || (word === undefined && values.session === undefined))
    throw new UsageError("There is no prompt.");
  return word;
}
