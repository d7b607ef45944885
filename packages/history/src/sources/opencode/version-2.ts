/** Reads sessions of opencode 2.x. Each message is one row, which contains its content. */
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import type { OpenDatabase } from "../port/sqlite.ts";
import type { Unit } from "../port/source.ts";
import type { Block, TranscriptWriter } from "../port/transcript-writer.ts";
import { jsonOf, writeHead } from "./version-1.ts";
import { callOf, fileBlock, tokensOf } from "./messages.ts";

export function readSecond(database: OpenDatabase, unit: Unit, writer: TranscriptWriter): void {
  const [session] = database.all("SELECT * FROM session_v2 WHERE id = ?", unit.id);
  if (!session) return;
  writeHead(database, session, writer, parentCall);
  if (writer.wants === "head") return;
  const [data, chosen] =
    writer.wants === "usage"
      ? [
          "CASE WHEN json_valid(data) THEN json_remove(data, '$.content') ELSE data END AS data",
          " AND type = 'assistant'",
        ]
      : ["data", ""];
  const sql = `SELECT id, type, time_created, ${data} FROM session_message WHERE session_id = ?${chosen} ORDER BY seq`;
  database.each(sql, [unit.id], ({ id, type, time_created: created, data: text }) => {
    const row = { id: String(id), type: String(type), at: Number(created), data: jsonOf(text, writer) };
    writeRow(row, writer);
  });
  writer.title(stringOf(session["title"]), `session_v2/${unit.id}`);
}

interface MessageRow {
  readonly id: string;
  readonly type: string;
  readonly at: number;
  readonly data: Value;
}

function writeRow({ id, type, at, data }: MessageRow, writer: TranscriptWriter): void {
  const placed = { id, at, from: `session_message/${id}` };
  const text = stringOf(data["text"]);
  if (type === "user") {
    const files = arrayOf(data["files"]).map(objectOf).map(fileBlock);
    writer.user(files.length === 0 ? (text ?? "") : [{ type: "text", text: text ?? "" }, ...files], placed);
  } else if (type === "assistant") writeAnswer(data, placed, writer);
  else if (type === "compaction") {
    const summary = stringOf(data["summary"]);
    if (summary === null) writer.other(type, data, placed);
    else writer.compaction(summary, placed);
  } else if (type === "synthetic" && text !== null) writer.user(text, { ...placed, isMeta: true });
  else writer.other(type, data, placed);
}

function writeAnswer(
  data: Value,
  placed: { readonly id: string; readonly at: number; readonly from: string },
  writer: TranscriptWriter,
): void {
  const content: Block[] = [];
  const results: Result[] = [];
  for (const part of arrayOf(data["content"]).map(objectOf)) {
    const text = stringOf(part["text"]);
    if (part["type"] === "text" && text !== null) content.push({ type: "text", text });
    else if (part["type"] === "reasoning" && text !== null) content.push({ type: "thinking", thinking: text });
    else if (part["type"] === "tool") {
      const { call, result } = toolOf(part, `${placed.id}:${content.length}`);
      content.push(call);
      if (result) results.push(result);
    } else content.push(part);
  }
  writer.answer({
    ...placed,
    call: callOf(data, 0, data["tokens"], data["cost"]),
    model: stringOf(objectOf(data["model"])["id"]) ?? "",
    content,
    tokens: tokensOf(data["tokens"]),
    stopReason: stringOf(data["rawFinish"]) ?? stringOf(data["finish"]),
    reportedUsd: numberOf(data["cost"]) ?? undefined,
  });
  for (const { callId, content: output, ...rest } of results)
    writer.result(callId, output, { id: `${placed.id}:${callId}`, from: placed.from, ...rest });
}

interface Result {
  readonly callId: string;
  readonly content: unknown;
  readonly at: number | null;
  readonly isError: boolean;
  readonly details: unknown;
}

function toolOf(part: Value, unnamed: string): { readonly call: Block; readonly result: Result | undefined } {
  const state = objectOf(part["state"]);
  const callId = stringOf(part["id"]) ?? unnamed;
  const input = objectOf(state["input"]);
  const call = { type: "tool_use", id: callId, name: stringOf(part["name"]) ?? "unknown", input };
  const isError = state["status"] === "error";
  if (!isError && state["status"] !== "completed") return { call, result: undefined };
  const error = stringOf(state["error"]) ?? stringOf(objectOf(state["error"])["message"]) ?? "";
  const content = isError ? error : arrayOf(state["content"]);
  const at = numberOf(objectOf(part["time"])["completed"]);
  return { call, result: { callId, content, at, isError, details: state["metadata"] } };
}

function parentCall(database: OpenDatabase, parent: string, child: string): string | null {
  const sql = "SELECT data FROM session_message WHERE session_id = ? AND type = 'assistant' AND instr(data, ?) > 0";
  for (const row of database.all(sql, parent, child))
    for (const part of arrayOf(jsonOf(row["data"])["content"]).map(objectOf)) {
      const metadata = objectOf(objectOf(part["state"])["metadata"]);
      if (stringOf(metadata["sessionId"]) === child) return stringOf(part["id"]);
    }
  return null;
}
