import {
  type Await,
  type ContentBlock,
  type Draft,
  type Event,
  type FactData,
  type Run,
  blocksOf,
  isToolUse,
  priceCall,
} from "@skein/protocol";
import { type Config, saySimulationOnce, simulationChoice } from "skein/config";
import { cost, tokens } from "./amounts.ts";
import { duration } from "./times.ts";
import { counted } from "./counts.ts";
import type { Values } from "./command.ts";
import type { AGENT_OPTIONS } from "./load-agent.ts";
import { questionIn } from "./questions.ts";
import { shellQuoted } from "./shell-quoted.ts";
import { createMarkdownWriter } from "./markdown.ts";
import type { Screen } from "./screen.ts";
import type { PLACE_OPTIONS } from "./shared-options.ts";
import { createVisible, visible, visibleLine } from "./visible-text.ts";
import { shorten } from "./width.ts";
import { wrapped } from "./help.ts";

/** Shows a run while it happens: text as it arrives, each tool call as one line, and errors. */
export interface RunPrinter {
  show(item: Event | Draft): void;
  /** Ends the current line. */
  end(): void;
}

export function createRunPrinter(screen: Screen): RunPrinter {
  const { note: paint } = screen.paint;
  const noteWidth = Math.min(120, (screen.noteColumns ?? 1000) - 2);
  let text = createShown(screen);
  /** The number of shown characters of the current message. */
  let shown = 0;
  let message = "";
  let atLineStart = true;
  let endProgress = (): void => {};

  function write(piece: string): void {
    if (piece === "") return;
    endProgress();
    screen.out(piece);
    atLineStart = piece.endsWith("\n");
  }

  function endLine(): void {
    endProgress();
    write(text.end());
    text = createShown(screen);
    if (!atLineStart) write("\n");
  }

  function line(styled: string): void {
    endLine();
    screen.note(`${styled}\n`);
  }

  function waiting(what: string): void {
    endProgress();
    endProgress = screen.progress(what);
  }

  /** Shows the rest of an interrupted answer, and says that it was interrupted. */
  function interrupted({ message_id, content }: Pick<FactData<"step.abandoned">, "message_id" | "content">): void {
    if (message_id === undefined || !content) return;
    showRest(message_id, content);
    line(paint.dim("The answer was interrupted here."));
  }

  /** Shows the part of an answer that drafts have not shown. */
  function generated({ message_id, content, purpose }: FactData<"step.generated">): void {
    if (purpose !== "step" && purpose !== "summary") return;
    showRest(message_id, content);
    if (content.some(isToolUse)) waiting("Working");
  }

  function showRest(messageId: string, content: readonly ContentBlock[]): void {
    const whole = content.flatMap((block) => (block.type === "text" ? [String(block["text"])] : [])).join("");
    write(text.push(message === messageId ? whole.slice(shown) : whole));
    endLine();
    shown = 0;
    message = "";
  }

  function show(item: Event | Draft): void {
    switch (item.event_type) {
      case "step.generating": {
        const { message_id, offset, delta } = item.data;
        if (message !== message_id) {
          // Another message id means that the model begins its answer again.
          if (shown > 0) line(paint.dim("The answer broke off and begins again."));
          message = message_id;
          shown = 0;
        }
        if (offset + delta.length <= shown) return;
        write(text.push(delta.slice(Math.max(0, shown - offset))));
        shown = offset + delta.length;
        return;
      }
      case "step.started":
        waiting(item.data.purpose === "compaction" ? "Summarising" : "Waiting for the model");
        return;
      case "step.generated":
        generated(item.data);
        return;
      case "step.error":
      case "step.abandoned":
        interrupted(item.data);
        return;
      case "tool.started":
        line(paint.cyan(`→ ${callLine(item.data, noteWidth)}`));
        waiting(`Running ${visibleLine(item.data.name)}`);
        return;
      case "tool.completed": {
        const { name, content, outcome, is_error, duration_ms } = item.data;
        const said = blocksOf(content).map((block) =>
          block.type === "text" ? String(block["text"]) : `[${block.type}]`,
        );
        const mark = is_error ? paint.red(outcome === "unknown" ? "?" : "✗") : paint.green("✓");
        const took = ` (${duration(duration_ms)})`;
        line(`${mark} ${paint.dim(shorten(`${name}: ${said.join(" ")}`, noteWidth - took.length) + took)}`);
        return;
      }
      case "step.retried":
        line(
          paint.yellow(
            `The model failed (${shorten(item.data.error.message, 120)}); ${
              item.data.output === "tool"
                ? "the model is called again and must answer through a tool"
                : item.data.model === undefined
                  ? `again in ${duration(item.data.delay_ms)}`
                  : `${visibleLine(item.data.model)} is called instead`
            }.`,
          ),
        );
        waiting("Waiting before the next attempt");
        return;
      case "await.opened":
        for (const { kind, name, session_id } of item.data.awaits)
          if (kind === "subagent") line(paint.cyan(`→ ${visibleLine(name)} works in session ${session_id ?? "?"}`));
        return;
      case "steps.exhausted":
        line(paint.yellow(`The limit of ${item.data.max_steps} steps is reached.`));
        return;
      case "session.completed":
      case "session.failed":
        endLine();
        return;
      default:
    }
  }

  return { show, end: endLine };
}

/** Shows every item. Returns the id of their session. */
export async function print(screen: Screen, items: AsyncIterable<Event | Draft>): Promise<string | undefined> {
  const printer = createRunPrinter(screen);
  try {
    return await each(items, printer.show);
  } finally {
    printer.end();
  }
}

/** Prints a run as lines of JSON. */
export function printJson(screen: Screen, items: AsyncIterable<Event | Draft>): Promise<string | undefined> {
  return each(items, screen.json);
}

async function each(
  items: AsyncIterable<Event | Draft>,
  show: (item: Event | Draft) => void,
): Promise<string | undefined> {
  let sessionId: string | undefined;
  for await (const item of items) {
    show(item);
    sessionId ??= sessionOf(item);
  }
  return sessionId;
}

export function sessionOf(item: Event | Draft): string {
  return "session_id" in item ? item.session_id : item.data.session_id;
}

/** Prepares text for the output: as Markdown for a person at a terminal, unchanged for a file or a program. */
function createShown({ tableColumns: columns, paint }: Screen): ReturnType<typeof createVisible> {
  const seen = createVisible();
  if (columns === undefined) return seen;
  const markdown = createMarkdownWriter({ columns, paint: paint.out });
  return { push: (piece) => markdown.push(seen.push(piece)), end: () => markdown.push(seen.end()) + markdown.end() };
}

function callLine({ name, input }: { readonly name: string; readonly input: unknown }, columns = 120): string {
  const entries = Object.entries((input ?? {}) as Record<string, unknown>);
  const shown = entries.map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return shorten(`${name}(${shown.join(", ")})`, columns);
}

export const SIMULATED_BY_SERVER =
  "The model of this server is a simulation. Its answers are made up and cost nothing.";

/**
 * If this process simulates the model (no API key is set, or a simulation was asked for), tells the user so. Says
 * nothing if a server is used, because only its answer shows whether the server simulates.
 */
export function sayIfSimulated(
  screen: Screen,
  config: Config,
  { server, model }: Place & { readonly model?: string | undefined },
): void {
  const { anthropicApiKey, anthropicAuthToken, anthropicBaseUrl } = config;
  const { simulates: isAsked, needsRealBecause } = simulationChoice(config);
  // Only Claude models are simulated. Models of other providers are always called.
  if (model?.includes("/") && !model.startsWith("anthropic/")) return;
  const isReal = needsRealBecause ?? anthropicApiKey ?? anthropicAuthToken ?? anthropicBaseUrl;
  if (server !== undefined || (!isAsked && isReal !== undefined)) return;
  saySimulationOnce(config, (sentence) => screen.note(screen.paint.note.dim(`${sentence}\n`)));
  if (
    model !== undefined &&
    priceCall(model.replace(/^anthropic\//, ""), { input_tokens: 1, output_tokens: 1 }) === undefined
  )
    screen.note(
      `"${visibleLine(model)}" is not a model that Skein knows. The simulation answers anyway, but Claude's API would reject this name.\n`,
    );
}

/** Returns the last lines that are shown for a run: how it ended, its steps, tokens, cost and session. */
export function summaryOf(screen: Screen, run: Run, error: { readonly message: string } | null): string {
  const { note: paint } = screen.paint;
  const steps = counted(run.total_steps, "step");
  const took = [steps, tokens(run.usage), cost(run.cost_micros, run.unpriced_calls)].join(" · ");
  const reason = run.stop_reason === "end_turn" || run.stop_reason === null ? "" : ` (${run.stop_reason})`;
  const failure = `${run.outcome === "cancelled" ? "Cancelled" : "Failed"}${error ? `: ${visible(error.message)}` : reason}`;
  const [how, colour] =
    run.outcome === "completed"
      ? [`Completed${reason}`, paint.green]
      : run.outcome === null
        ? ["Waiting", paint.yellow]
        : [failure, paint.red];
  const session = `session ${run.session_id}`;
  const room = screen.noteColumns ?? Number.POSITIVE_INFINITY;
  if (`${how} · ${took} · ${session}`.length <= room) return `${colour(how)} ${paint.dim(`· ${took} · ${session}`)}\n`;
  return `${colour(wrapped(how, room).join("\n"))}\n${paint.dim(`${took}\n${session}`)}\n`;
}

/** Returns lines that say what a run waits for, and with which commands a person answers. */
export function waitLines(screen: Screen, waits: readonly Await[], place: Place): string {
  const { note: paint } = screen.paint;
  return waits
    .map(({ session_id, tool_use_id, kind, name, input, expires_at }) => {
      const asked = kind === "question" ? questionIn(input) : undefined;
      const until = expires_at === null ? "" : ` until ${expires_at}`;
      const what = {
        approval: `Waits${until} for your approval of`,
        question: `Waits${until} for your answer${asked === undefined ? " to" : ":"}`,
        frontend_tool: `Waits${until} for the result of`,
        subagent: "Waits for",
      }[kind];
      const answer = kind === "approval" ? "yes" : '"your answer"';
      const at = given(place);
      const deny = kind === "approval" ? `\n  skein sessions answer ${session_id} ${tool_use_id} no --deny${at}` : "";
      return `${paint.yellow(`${what} ${asked === undefined ? callLine({ name, input }) : shorten(asked, 300)}`)}\n  skein sessions answer ${session_id} ${tool_use_id} ${answer}${at}${deny}\n`;
    })
    .join("");
}

/** Where a session is, as given on the command line. */
type Place = Pick<Values<typeof PLACE_OPTIONS>, "store" | "server">;

function given({ store, server }: Place): string {
  return [...(store === undefined ? [] : ["--store", store]), ...(server === undefined ? [] : ["--server", server])]
    .map((word) => ` ${shellQuoted(word)}`)
    .join("");
}

/** Returns the command that continues a session. */
export function commandToGoOn(
  { values }: { readonly values: Pick<Values<typeof AGENT_OPTIONS>, "agent" | "tools"> & Place },
  command: "run" | "chat",
  sessionId: string,
): string {
  const { agent, tools } = values;
  const options = Object.entries({ agent, tools }).flatMap(([name, value]) =>
    value === undefined ? [] : [` --${name} ${shellQuoted(value)}`],
  );
  return [`skein ${command} --session ${sessionId}`, ...options, given(values)].join("");
}
