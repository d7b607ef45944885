/** Translates messages and parts of opencode 1.x, from the database or from files. */
import { numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { imageOf } from "../codex/items.ts";
import type { Block, CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";

/** The type of a part that ends a step without recorded tokens. opencode never writes this type. */
export const UNCOUNTED_END = "skein:step-end";

export interface Part {
  readonly id: string;
  readonly data: Value;
}

/** Converts the counts. opencode's input does not include the cache, and its output does not include reasoning. */
export function tokensOf(value: unknown): CallTokens | undefined {
  const tokens = objectOf(value);
  const cache = objectOf(tokens["cache"]);
  const of = (from: Value, key: string): number => numberOf(from[key]) ?? 0;
  const reasoning = of(tokens, "reasoning");
  const found = {
    input: of(tokens, "input"),
    output: of(tokens, "output") + reasoning,
    reasoning,
    cacheRead: of(cache, "read"),
    cacheWrite: of(cache, "write"),
  };
  return found.input + found.output + found.cacheRead + found.cacheWrite > 0 ? found : undefined;
}

/**
 * Makes the id of a model call from its times, model, tokens and cost. A fork copies a call under a new row id, but
 * keeps these values. So the copy gets the same id and does not count again.
 */
export function callOf(data: Value, step: number, tokens: unknown, cost: unknown): string {
  const { created, completed } = objectOf(data["time"]);
  const model = stringOf(data["modelID"]) ?? stringOf(objectOf(data["model"])["id"]) ?? "";
  const counts = tokensOf(tokens);
  const numbers = counts ? [counts.input, counts.output, counts.cacheRead, counts.cacheWrite] : [];
  const parts: readonly unknown[] = ["opencode", created, completed, model, step, ...numbers, cost];
  return parts.map((part) => (typeof part === "string" || typeof part === "number" ? part : "")).join(":");
}

export function writeMessage(id: string, data: Value, parts: readonly Part[], writer: TranscriptWriter): void {
  if (data["role"] === "user") writeUser(id, data, parts, writer);
  else if (data["role"] === "assistant") writeAssistant(id, data, parts, writer);
  else writer.other(stringOf(data["role"]) ?? "message", data, { from: `message/${id}`, at: createdOf(data) });
}

function createdOf(data: Value): number | null {
  return numberOf(objectOf(data["time"])["created"]);
}

function writeUser(id: string, data: Value, parts: readonly Part[], writer: TranscriptWriter): void {
  const content: Block[] = [];
  const rest: Part[] = [];
  let isTyped = false;
  for (const part of parts) {
    const text = stringOf(part.data["text"]);
    if (part.data["type"] === "text" && text !== null) {
      isTyped ||= part.data["synthetic"] !== true;
      content.push({
        type: "text",
        text: part.data["synthetic"] === true ? `<system-reminder>${text}</system-reminder>` : text,
      });
    } else if (part.data["type"] === "file") content.push(fileBlock(part.data));
    else rest.push(part);
  }
  writer.user(content, { id, from: `message/${id}`, at: createdOf(data), isMeta: content.length > 0 && !isTyped });
  writeOthers(rest, data, writer);
}

/** Returns an image block for an image with data, and a text block with the name for any other file. */
export function fileBlock(file: Value): Block {
  const url = stringOf(file["url"]) ?? stringOf(file["uri"]) ?? "";
  const mime = stringOf(file["mime"]) ?? "";
  if (mime.startsWith("image/") && url.startsWith("data:")) return imageOf(url);
  const name = stringOf(file["filename"]) ?? stringOf(file["name"]) ?? url.slice(0, 200);
  return { type: "text", text: `[file ${name}${mime === "" ? "" : ` (${mime})`}]` };
}

function writeOthers(parts: readonly Part[], data: Value, writer: TranscriptWriter): void {
  for (const part of parts)
    writer.other(stringOf(part.data["type"]) ?? "part", part.data, { from: `part/${part.id}`, at: createdOf(data) });
}

interface Step {
  readonly content: Block[];
  readonly results: (() => void)[];
  readonly from: string;
}

function writeAssistant(id: string, data: Value, parts: readonly Part[], writer: TranscriptWriter): void {
  const model = stringOf(data["modelID"]) ?? "";
  const from = `message/${id}`;
  let step: Step = { content: [], results: [], from };
  let steps = 0;
  let hasCounts = false;
  writer.place({ cwd: stringOf(objectOf(data["path"])["cwd"]) });
  const end = (tokens: unknown, cost: unknown, at: number | null, isCounted: boolean): void => {
    const reportedUsd = numberOf(cost) ?? undefined;
    const counted = isCounted ? tokensOf(tokens) : undefined;
    const call = callOf(data, steps, tokens, cost);
    if (data["summary"] === true) {
      const text = step.content.flatMap((block) => stringOf(block["text"]) ?? []).join("\n");
      if (text !== "") writer.compaction(text, { id: `${id}:${steps}`, from, at });
      if (counted) writer.usage(call, model, counted, { from, at, reportedUsd });
    } else if (step.content.length > 0 || counted) {
      const stopReason = step.results.length > 0 ? "tool_use" : "end_turn";
      writer.answer({
        call,
        model,
        content: step.content,
        tokens: counted,
        id: `${id}:${steps}`,
        from,
        at,
        stopReason,
        reportedUsd,
      });
    }
    for (const write of step.results) write();
    step = { content: [], results: [], from };
    steps += 1;
  };
  const others: Part[] = [];
  for (const part of parts) {
    const { data: value } = part;
    const text = stringOf(value["text"]);
    if (value["type"] === "text" && text !== null) step.content.push({ type: "text", text });
    else if (value["type"] === "reasoning" && text !== null) step.content.push({ type: "thinking", thinking: text });
    else if (value["type"] === "tool") addTool(part, step, writer);
    else if (value["type"] === "step-finish") {
      hasCounts = true;
      end(value["tokens"], value["cost"], createdOf(data), true);
    } else if (value["type"] === UNCOUNTED_END) end(undefined, undefined, createdOf(data), false);
    else if (value["type"] !== "step-start") others.push(part);
  }
  // If no end of a step is recorded, the tokens are in the message.
  if (step.content.length > 0 || !hasCounts) end(data["tokens"], data["cost"], createdOf(data), !hasCounts);
  writeOthers(others, data, writer);
  if (data["error"] !== undefined) writer.other("error", objectOf(data["error"]), { from, at: createdOf(data) });
}

function addTool(part: Part, step: Step, writer: TranscriptWriter): void {
  const { data } = part;
  const state = objectOf(data["state"]);
  const callId = stringOf(data["callID"]) ?? part.id;
  step.content.push({
    type: "tool_use",
    id: callId,
    name: stringOf(data["tool"]) ?? "unknown",
    input: objectOf(state["input"]),
  });
  const isError = state["status"] === "error";
  if (!isError && state["status"] !== "completed") return;
  const at = numberOf(objectOf(state["time"])["end"]);
  const details = { title: state["title"], ...objectOf(state["metadata"]) };
  step.results.push(
    () =>
      void writer.result(callId, isError ? (stringOf(state["error"]) ?? "") : (stringOf(state["output"]) ?? ""), {
        id: `${part.id}:result`,
        from: `part/${part.id}`,
        at,
        isError,
        details,
      }),
  );
}
