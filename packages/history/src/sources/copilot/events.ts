/** Translates the events of a Copilot session. */
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { SUM } from "../port/source.ts";
import type { Block, CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";
import { createLegs } from "./legs.ts";
import type { CallRow } from "./usage-rows.ts";

export interface Usage {
  readonly rows: readonly CallRow[];
  readonly spans: readonly CallRow[];
}

export interface Events {
  add(event: Value, from: string): void;
  finish(title: string | null): void;
}

interface Placed {
  readonly id?: string;
  readonly at: string | null;
  readonly from: string;
  readonly side?: string;
  readonly parent?: string | null;
}

/** Bookkeeping records that are not part of the conversation. */
const silent = new Set(["assistant.turn_start", "assistant.turn_end", "tool.execution_start"]);

export function createEvents(sessionId: string, writer: TranscriptWriter, usage: Usage): Events {
  // Tokens come from the rows of the database. Without rows, they come from the sums that Copilot writes when it ends.
  // Without sums, they come from OpenTelemetry, or only the output tokens are known.
  const unused = usage.rows.length > 0 ? [...usage.rows] : [];
  const legs = createLegs();
  const spans = [...usage.spans];
  const answers = new Map<string, () => void>();
  const pending: (() => void)[] = [];
  const marks = new Map<string, string | null>();
  let model = "";
  let title: { readonly text: string; readonly from: string } | undefined;
  let branchAt: string | null | undefined;

  const later = (write: () => void): void => void pending.push(write);
  /** Returns the parent of the next line after a rewind, which is the event to which the conversation was rewound. */
  const branch = (): { readonly parent?: string | null } => {
    if (branchAt === undefined) return {};
    const parent = branchAt;
    branchAt = undefined;
    return { parent };
  };
  const tokensFor = (output: number | null): { tokens?: CallTokens; call?: CallRow } => {
    const calls = usage.rows.length > 0 ? unused : legs.count > 0 ? [] : spans;
    const at = calls.findIndex(({ tokens }) => tokens.output === output);
    const [call] = at < 0 ? [] : calls.splice(at, 1);
    if (call) return { tokens: call.tokens, call };
    const isAlone = usage.rows.length === 0 && legs.count === 0 && usage.spans.length === 0;
    // Only the output tokens are known. `null` says that the input tokens are unknown, and not 0.
    return isAlone && output !== null ? { tokens: { input: null, output } } : {};
  };
  const answer = (data: Value, placed: Placed): void => {
    const id = stringOf(data["messageId"]) ?? placed.from;
    if (answers.has(id)) return;
    const reasoning = stringOf(data["reasoningText"]);
    const text = stringOf(data["content"]);
    const requests = arrayOf(data["toolRequests"]).map(objectOf);
    const content: Block[] = [
      ...(reasoning ? [{ type: "thinking", thinking: reasoning }] : []),
      ...(text ? [{ type: "text", text }] : []),
      ...requests.map((call) => ({
        type: "tool_use",
        id: call["toolCallId"],
        name: [stringOf(call["mcpServerName"]), stringOf(call["name"])].filter((part) => part !== null).join("."),
        input: objectOf(call["arguments"]),
      })),
    ];
    const named = stringOf(data["model"]) ?? model;
    const write = (): void => {
      const { tokens, call } = tokensFor(numberOf(data["outputTokens"]));
      const stopReason = requests.length > 0 ? "tool_use" : "end_turn";
      writer.answer({
        ...placed,
        id,
        call: `copilot:${sessionId}:${call?.id ?? id}`,
        model: plainModel(call?.model || named),
        content,
        tokens,
        stopReason,
      });
    };
    answers.set(id, write);
    later(write);
  };
  const handlers: Readonly<Record<string, (data: Value, placed: Placed) => void>> = {
    "session.start": (data) => begin(data),
    "session.resume": (data) => begin(data),
    "session.context_changed": (data) => begin({ context: data["context"] ?? data }),
    "session.model_change": (data) => void (model = stringOf(data["newModel"]) ?? model),
    "session.title_changed": (data, { from }) => {
      const text = stringOf(data["title"]);
      if (text !== null) title = { text, from };
    },
    "user.message": (data, placed) => {
      const isMeta = stringOf(data["source"])?.startsWith("skill-") ?? false;
      const text = stringOf(data["content"]) ?? "";
      later(() => void writer.user(text, { ...placed, isMeta, ...branch() }));
    },
    "assistant.message": answer,
    "tool.execution_complete": (data, placed) => {
      const result = objectOf(data["result"]);
      const error = objectOf(data["error"]);
      const isError = data["success"] === false;
      const text = stringOf(result["content"]) ?? stringOf(error["message"]) ?? "";
      later(() => void writer.result(stringOf(data["toolCallId"]) ?? "", text, { ...placed, isError }));
    },
    "session.compaction_complete": (data, placed) => {
      legs.compacted();
      later(() => writer.compaction(stringOf(data["summaryContent"]), placed));
    },
    "session.shutdown": (data, placed) => {
      const spent = legs.add(objectOf(data["modelMetrics"]));
      later(() => {
        if (usage.rows.length > 0) return;
        for (const { name, tokens } of spent)
          writer.usage(`${SUM}copilot:${sessionId}:${placed.from}:${name}`, plainModel(name), tokens, placed);
      });
    },
    "session.snapshot_rewind": (data) => {
      const event = stringOf(data["upToEventId"]) ?? "";
      later(() => void (branchAt = marks.get(event) ?? null));
    },
  };
  const begin = (data: Value): void => {
    model = stringOf(data["selectedModel"]) ?? model;
    const version = stringOf(data["copilotVersion"]);
    if (version) legs.version(version);
    later(() => writer.place(placeOf(data)));
  };
  return {
    add(event, from) {
      const type = stringOf(event["type"]) ?? "unknown";
      const id = stringOf(event["id"]);
      const side = stringOf(event["agentId"]) ?? stringOf(objectOf(event["data"])["parentToolCallId"]);
      const placed = {
        at: stringOf(event["timestamp"]),
        from,
        ...(id !== null && { id }),
        ...(side !== null && { side }),
      };
      const handle = handlers[type];
      if (handle) handle(objectOf(event["data"]), placed);
      else if (!silent.has(type)) later(() => writer.other(type, objectOf(event["data"]), placed));
      later(() => {
        if (id !== null) marks.set(id, writer.last);
      });
    },
    finish(name) {
      for (const write of pending) write();
      const rest = usage.rows.length > 0 ? unused : legs.count > 0 ? [] : spans;
      for (const { id, model: of, tokens, at, from } of rest)
        writer.usage(`copilot:${sessionId}:${id}`, plainModel(of), tokens, { at, from });
      if (name !== null) writer.title(name, "workspace.yaml");
      else if (title) writer.title(title.text, title.from);
    },
  };
}

/**
 * Returns the name of the model without the endings that Copilot adds for routes and efforts. ccusage removes them too.
 */
export function plainModel(name: string): string {
  return name.replace(/(?:(?:-1m)?-internal|-xhigh|-high|-1m)$/, "");
}

export function placeOf(data: Value): Parameters<TranscriptWriter["place"]>[0] {
  const context = objectOf(data["context"]);
  const version = stringOf(data["copilotVersion"]);
  return { cwd: stringOf(context["cwd"]), branch: stringOf(context["branch"]), version };
}
