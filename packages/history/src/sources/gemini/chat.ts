/**
 * Replays a chat file of Gemini CLI. Whenever a message changes, Gemini CLI writes the whole message again. A new list
 * of messages replaces the old list.
 */
import { arrayOf, isObject, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import type { Block, CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";

export interface Chat {
  add(record: Value, from: string): void;
  finish(): void;
}

interface Recorded {
  value: Value;
  from: string;
  /** The message before this message, when Gemini CLI first wrote this message. */
  readonly parent: string | null;
  /** The latest token counters of the message. */
  tokens?: Value;
}

type Step =
  | { readonly kind: "message"; readonly id: string }
  | { readonly kind: "compaction"; readonly ids: readonly string[] };

export function createChat(sessionId: string, writer: TranscriptWriter): Chat {
  const messages = new Map<string, Recorded>();
  const steps: Step[] = [];
  let live: string[] = [];
  let title: { readonly text: string; readonly from: string } | undefined;
  const named = (text: string | null, from: string): void => {
    if (text !== null) title = { text, from };
  };

  const note = (written: Value, from: string): boolean => {
    const value = writer.wants === "usage" ? withoutContent(written) : written;
    const id = stringOf(value["id"]);
    if (id === null) return false;
    const known = messages.get(id);
    const tokens = isObject(value["tokens"]) ? value["tokens"] : undefined;
    if (known) {
      known.value = value;
      known.from = from;
      if (tokens) known.tokens = tokens;
      return false;
    }
    messages.set(id, { value, from, parent: live.at(-1) ?? null, ...(tokens && { tokens }) });
    return true;
  };
  const replace = (list: readonly Value[], from: string): void => {
    const fresh = list.filter((value) => note(value, from)).flatMap((value) => stringOf(value["id"]) ?? []);
    live = list.flatMap((value) => stringOf(value["id"]) ?? []);
    if (fresh.length > 0) steps.push({ kind: "compaction", ids: fresh });
  };
  const add = (record: Value, from: string): void => {
    if (!note(record, from)) return;
    live.push(String(record["id"]));
    steps.push({ kind: "message", id: String(record["id"]) });
  };
  /**
   * Applies a change of the model's context. Adds results that are missing, and takes removed messages out of the
   * context, but keeps them in the transcript.
   */
  const patch = (change: Value): void => {
    const known = messages.get(stringOf(change["id"]) ?? "");
    const results = new Map(
      arrayOf(change["toolCalls"]).map((call) => [objectOf(call)["id"], objectOf(call)["result"]]),
    );
    if (known && results.size > 0) {
      const toolCalls = arrayOf(known.value["toolCalls"])
        .map(objectOf)
        .map((call) => ({ ...call, result: call["result"] ?? results.get(call["id"]) }));
      known.value = { ...known.value, toolCalls };
    }
    const removed = arrayOf(change["removeIds"]);
    live = live.filter((id) => !removed.includes(id));
  };
  return {
    add(record, from) {
      const set = record["$set"];
      if (isObject(set)) {
        named(stringOf(set["summary"]), from);
        const list = set["messages"];
        if (Array.isArray(list)) replace(list.map(objectOf), from);
      } else if (typeof record["$rewindTo"] === "string") {
        const at = live.indexOf(record["$rewindTo"]);
        live = at < 0 ? [] : live.slice(0, at);
      } else if (isObject(record["$patch"])) {
        for (const update of arrayOf(record["$patch"]["updates"]).map(objectOf))
          if (typeof update["type"] === "string" && !messages.has(String(update["id"]))) add(update, from);
          else patch(update);
        patch(record["$patch"]);
      } else if (typeof record["type"] === "string" && typeof record["id"] === "string") {
        add(record, from);
      } else if (typeof record["sessionId"] === "string") {
        named(stringOf(record["summary"]), from);
        const [folder] = arrayOf(record["directories"]);
        writer.place({ cwd: stringOf(folder) });
      } else writer.other("unknown", record, { from });
    },
    finish() {
      /** The last line that was written for each message. */
      const ends = new Map<string, string | null>();
      for (const step of steps) {
        if (step.kind === "message") {
          const message = messages.get(step.id);
          if (!message) continue;
          const parent = message.parent === null ? null : (ends.get(message.parent) ?? null);
          ends.set(step.id, writeMessage(message, parent, sessionId, writer));
          continue;
        }
        const [first] = step.ids.flatMap((id) => messages.get(id) ?? []);
        const summary = step.ids.map((id) => textOf(messages.get(id)?.value["content"])).join("\n");
        writer.compaction(summary, { from: first?.from ?? "", at: stringOf(first?.value["timestamp"]) });
        for (const id of [...step.ids, ...live]) ends.set(id, writer.last);
      }
      writer.title(title?.text, title?.from ?? "");
    },
  };
}

/**
 * Removes the texts of a message, which are most of its size, because all messages stay in memory until the end of the
 * chat.
 */
function withoutContent({ id, timestamp, type, model, tokens }: Value): Value {
  return { id, timestamp, type, model, tokens };
}

function writeMessage(
  message: Recorded,
  parent: string | null,
  sessionId: string,
  writer: TranscriptWriter,
): string | null {
  const { value, from } = message;
  const id = String(value["id"]);
  const at = stringOf(value["timestamp"]);
  const type = stringOf(value["type"]);
  if (type === "user") {
    const content = partsOf(value["content"]);
    return writer.user(content, {
      id,
      at,
      from,
      parent,
      isMeta: textOf(value["content"]).startsWith("<session_context>"),
    });
  }
  if (type !== "gemini") {
    writer.other(type ?? "unknown", value, { at, from });
    return parent;
  }
  const calls = arrayOf(value["toolCalls"]).map(objectOf);
  const spoken = partsOf(value["content"]);
  const content = [
    ...arrayOf(value["thoughts"]).map(objectOf).map(thinkingOf),
    ...(typeof spoken === "string" ? (spoken === "" ? [] : [{ type: "text", text: spoken }]) : spoken),
    ...calls.map((call) => ({ type: "tool_use", id: call["id"], name: call["name"], input: objectOf(call["args"]) })),
  ];
  const call = `gemini:${sessionId}:${id}`;
  const tokens = tokensOf(message.tokens);
  const stopReason = calls.length > 0 ? "tool_use" : "end_turn";
  writer.answer({ call, model: stringOf(value["model"]) ?? "", content, tokens, id, at, from, parent, stopReason });
  for (const done of calls) writeResult(done, id, from, writer);
  return writer.last;
}

function writeResult(call: Value, id: string, from: string, writer: TranscriptWriter): void {
  const status = stringOf(call["status"]);
  if (status !== "success" && status !== "error" && status !== "cancelled") return;
  const output = arrayOf(call["result"])
    .map((part) => objectOf(objectOf(objectOf(part)["functionResponse"])["response"]))
    .map((response) => stringOf(response["output"]) ?? stringOf(response["error"]) ?? JSON.stringify(response))
    .join("\n");
  const callId = String(call["id"]);
  const at = stringOf(call["timestamp"]);
  const details = { resultDisplay: call["resultDisplay"], agentId: call["agentId"] };
  writer.result(callId, output, { id: `${id}:${callId}`, at, from, isError: status !== "success", details });
}

/**
 * Converts Gemini CLI's counters. Its input includes tokens from the cache, but no tool prompts. Its output does not
 * include thoughts.
 */
function tokensOf(value: Value | undefined): CallTokens | undefined {
  if (!value) return undefined;
  const of = (key: string): number => numberOf(value[key]) ?? 0;
  const [cached, thoughts] = [of("cached"), of("thoughts")];
  return {
    input: Math.max(0, of("input") - cached) + of("tool"),
    cacheRead: cached,
    output: of("output") + thoughts,
    reasoning: thoughts,
  };
}

function thinkingOf(thought: Value): Block {
  const parts = [stringOf(thought["subject"]), stringOf(thought["description"])].filter((part) => part !== null);
  return { type: "thinking", thinking: parts.join(": ") };
}

export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return (Array.isArray(content) ? content : [content])
    .flatMap((part) => stringOf(objectOf(part)["text"]) ?? [])
    .join("\n");
}

/** Converts parts of Google's API into blocks. */
function partsOf(content: unknown): string | readonly Block[] {
  if (typeof content === "string") return content;
  const parts = (Array.isArray(content) ? content : [content]).map(objectOf);
  if (parts.length === 1 && typeof parts[0]?.["text"] === "string") return parts[0]["text"];
  return parts.map((part) => {
    const data = objectOf(part["inlineData"]);
    if (typeof data["data"] === "string")
      return { type: "image", source: { type: "base64", media_type: data["mimeType"], data: data["data"] } };
    return typeof part["text"] === "string" ? { type: "text", text: part["text"] } : { ...part, type: "part" };
  });
}
