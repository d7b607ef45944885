/** Formats a transcript for people. By default, a tool call is one line, and its result is the next line. */
import type { AgentSummary, Message, Session, ToolCall } from "@skein/history";
import { toolCallsOf } from "@skein/history";
import { shortModel } from "./short-names.ts";
import { type Paint, type Styled, styledText, wrap } from "../../terminal/styled.ts";
import { shorten } from "../../terminal/width.ts";
import { count, counted } from "../../terminal/counts.ts";
import { clock, shortDate } from "../../terminal/times.ts";

export interface ViewOptions {
  readonly paint: Paint;
  readonly columns: number;
  /** Shows whole inputs, results and thinking. */
  readonly isFull: boolean;
  /** Also shows lines that are not part of the conversation, as JSON. */
  readonly isAll: boolean;
  /** Who answers in this conversation. */
  readonly speaker: string;
  /** The number of hidden messages from before the compaction. */
  readonly hiddenCount: number;
  /** The title above the conversation. A line with the same title is not shown again. */
  readonly title: string | null;
}

type Conversation = Pick<Session, "messages" | "agents">;

/** Yields the lines of a conversation message by message, so that these lines are never all in memory. */
export function* transcriptLines(conversation: Conversation, options: ViewOptions): Generator<Styled> {
  const calls = new Map(toolCallsOf(conversation).map((call) => [call.id, call]));
  const agents = new Map(conversation.agents.map((agent) => [agent.toolUseId, agent]));
  const view: View = { ...options, calls, agents };
  let day = "";
  let speaker = "";
  for (const message of conversation.messages) {
    const shown = messageLines(message, view);
    if (shown.lines.length === 0) continue;
    const date = shortDate(message.timestamp);
    if (date !== day && !message.timestampIsInferred) {
      day = date;
      yield styledText``;
      yield options.paint.dim(styledText`── ${date} ${"─".repeat(Math.max(0, Math.min(60, options.columns - 20)))}`);
      speaker = "";
    }
    // Consecutive messages of one agent share a heading. Each prompt gets a new heading.
    const { heading } = shown;
    if (heading !== undefined && (heading.text !== speaker || message.role !== "assistant")) {
      yield styledText``;
      const time = message.timestampIsInferred ? "" : styledText`  ${options.paint.dim(clock(message.timestamp))}`;
      yield styledText`${heading}${time}`;
    }
    speaker = heading?.text ?? "";
    yield* shown.lines;
  }
}

interface View extends ViewOptions {
  readonly calls: ReadonlyMap<string, ToolCall>;
  readonly agents: ReadonlyMap<string | null, AgentSummary>;
}

interface Shown {
  readonly heading: Styled | undefined;
  readonly lines: readonly Styled[];
}

function messageLines(message: Message, view: View): Shown {
  const { paint } = view;
  const aside = asideOf(message);
  const heading = (text: Styled): Styled => (aside === "" ? text : styledText`${text} ${paint.yellow(`(${aside})`)}`);
  if (message.role === "assistant") {
    const lines = message.content.flatMap((block) => blockLines(block, view));
    const model = message.model === "" || message.model === "<synthetic>" ? "" : ` · ${shortModel(message.model)}`;
    return { heading: heading(styledText`${paint.bold(paint.green(`● ${view.speaker}`))}${paint.dim(model)}`), lines };
  }
  const prompt = message.humanPrompt;
  if (prompt !== null) {
    const queued = message.role === "user" ? "" : ` (while ${view.speaker} was working)`;
    return {
      heading: heading(styledText`${paint.bold(paint.cyan("❯ You"))}${paint.dim(queued)}`),
      lines: proseLines(prompt, view),
    };
  }
  if (message.role === "user") return { heading: undefined, lines: machineLines(message, view) };
  if (message.type === "summary" && (view.isAll || message.content !== view.title))
    return { heading: undefined, lines: [paint.dim(styledText`  Title: ${String(message.content)}`)] };
  const lines = message.type === "system" ? systemLines(message, view) : [];
  return { heading: undefined, lines: lines.length === 0 && view.isAll ? otherLines(message, view) : lines };
}

function asideOf(message: Message): string {
  if (message.isSidechain) return "subagent";
  if (message.isCompacted) return "before the compaction";
  return message.isActive ? "" : "rewound";
}

function blockLines(block: Readonly<Record<string, unknown>> | object, view: View): readonly Styled[] {
  const { paint } = view;
  const value = block as Readonly<Record<string, unknown>>;
  switch (value["type"]) {
    case "text":
      return proseLines(textOf(value["text"]), view);
    case "thinking": {
      const thought = textOf(value["thinking"]);
      if (thought.trim() === "") return [];
      if (view.isFull) return [paint.dim("  ✻ Thinking"), ...proseLines(thought, view).map(paint.dim)];
      return [paint.dim(styledText`  ✻ ${shorten(thought, lineWidth(view, 8))}`)];
    }
    case "tool_use":
      return callLines(value, view);
    default:
      return [paint.dim(styledText`  [${textOf(value["type"], "content")}]`)];
  }
}

/** Makes headings bold and code coloured. The Markdown stays unchanged. */
function proseLines(text: string, view: View): readonly Styled[] {
  const { paint } = view;
  const lines: Styled[] = [];
  let isCode = false;
  for (const line of text.trim().split("\n")) {
    if (/^\s*(```|~~~)/.test(line)) {
      isCode = !isCode;
      lines.push(paint.dim(styledText`  ${line}`));
    } else if (isCode) lines.push(paint.yellow(styledText`  ${line}`));
    else {
      const isHeading = /^#{1,6}\s/.test(line);
      for (const part of wrap(line, view.columns - 2))
        lines.push(isHeading ? paint.bold(styledText`  ${part}`) : styledText`  ${part}`);
    }
  }
  return lines;
}

function callLines(block: Readonly<Record<string, unknown>>, view: View): readonly Styled[] {
  const { paint } = view;
  const call = view.calls.get(textOf(block["id"]));
  const name = textOf(block["name"], "tool");
  const input = (block["input"] ?? {}) as Readonly<Record<string, unknown>>;
  const mark = call?.isError ? paint.red("✗") : paint.blue("⏺");
  const agent = view.agents.get(textOf(block["id"]));
  const lines = [
    styledText`  ${mark} ${paint.bold(name)} ${shorten(subjectOf(input), lineWidth(view, name.length + 6))}`,
  ];
  if (view.isFull) {
    lines.push(...indented(JSON.stringify(input, undefined, 2), view).map(paint.dim));
    if (call?.result !== null && call) lines.push(paint.dim("    ⎿"), ...indented(call.result, view));
  } else lines.push(resultLine(call, view));
  if (agent)
    lines.push(paint.dim(styledText`    ↳ subagent ${agent.agentId}: skein history show agent-${agent.agentId}`));
  return lines;
}

function resultLine(call: ToolCall | undefined, view: View): Styled {
  const { paint } = view;
  if (!call || call.result === null) return paint.dim("    ⎿ (no result)");
  const text = call.result.trim();
  const lines = text === "" ? 0 : text.split("\n").length;
  const first = shorten(
    text
      .slice(0, 2000)
      .split("\n")
      .find((line) => line.trim() !== "") ?? "(empty)",
    lineWidth(view, 20),
  );
  const more = lines > 1 ? ` … ${counted(lines, "line")}` : "";
  return call.isError ? paint.red(styledText`    ⎿ ${first}${more}`) : paint.dim(styledText`    ⎿ ${first}${more}`);
}

/** Returns the field of the input that best describes a call. */
function subjectOf(input: Readonly<Record<string, unknown>>): string {
  const keys = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "subject",
    "description",
    "prompt",
    "skill",
  ];
  const key = keys.find((name) => typeof input[name] === "string" && input[name] !== "");
  if (key === "pattern" && typeof input["path"] === "string") return `${String(input["pattern"])} in ${input["path"]}`;
  if (key !== undefined) return String(input[key]);
  const text = JSON.stringify(input);
  return text === "{}" ? "" : text;
}

function indented(text: string, view: View): readonly Styled[] {
  return text
    .trimEnd()
    .split("\n")
    .flatMap((line) => wrap(line, view.columns - 4))
    .map((line) => styledText`    ${line}`);
}

/** Returns the lines for output of commands, reminders and interruptions. Tool results are shown with their calls. */
function machineLines(message: Extract<Message, { role: "user" }>, view: View): readonly Styled[] {
  const { paint } = view;
  const { content } = message;
  const texts =
    typeof content === "string"
      ? [content]
      : content.flatMap((block) => (block.type === "text" && "text" in block ? [String(block.text)] : []));
  const text = texts.join("\n").trim();
  if (text === "") return [];
  if (message.raw["isCompactSummary"] === true && !view.isFull) {
    return [
      paint.dim(styledText`  ℹ Summary of what came before: ${shorten(text, lineWidth(view, 40))} (--full shows it)`),
    ];
  }
  if (view.isFull) return indented(text, view).map(paint.dim);
  return [paint.dim(styledText`  ℹ ${shorten(text.replaceAll(/<\/?[a-z_-]+>/g, " "), lineWidth(view, 6))}`)];
}

function systemLines(message: Message, view: View): readonly Styled[] {
  const { paint } = view;
  const { subtype } = message.raw;
  if (subtype === "compact_boundary") {
    const { preTokens, trigger } = (message.raw["compactMetadata"] ?? {}) as { preTokens?: unknown; trigger?: unknown };
    const about = [
      ...(typeof trigger === "string" ? [trigger] : []),
      ...(typeof preTokens === "number" ? [`${count(preTokens)} tokens`] : []),
    ].join(", ");
    const verb = view.hiddenCount === 1 ? "is" : "are";
    return [
      styledText``,
      paint.yellow(styledText`  ══ compacted${about === "" ? "" : ` (${about})`} ══`),
      ...(view.hiddenCount === 0
        ? []
        : [paint.dim(styledText`  ${counted(view.hiddenCount, "earlier message")} ${verb} hidden: --all shows them.`)]),
    ];
  }
  if (typeof message.content !== "string" || message.content.trim() === "") return [];
  return [paint.dim(styledText`  ℹ ${shorten(message.content.replaceAll(/<\/?[a-z_-]+>/g, " "), lineWidth(view, 6))}`)];
}

/** Formats a line outside the conversation: metadata, or a line of an unknown type. */
function otherLines({ type, raw, lineNumber }: Message, view: View): readonly Styled[] {
  const { paint } = view;
  const title = paint.dim(styledText`  · line ${lineNumber} ${type}`);
  if (view.isFull) return [title, ...indented(JSON.stringify(raw, undefined, 2), view).map(paint.dim)];
  const { type: _type, ...rest } = raw;
  return [styledText`${title} ${paint.dim(shorten(JSON.stringify(rest), lineWidth(view, type.length + 14)))}`];
}

function lineWidth(view: View, taken: number): number {
  return view.isFull ? 2000 : Math.max(20, Math.min(Number.isFinite(view.columns) ? view.columns : 160, 200) - taken);
}

function textOf(value: unknown, otherwise = ""): string {
  return typeof value === "string" ? value : otherwise;
}
