/** Reads the sessions of Goose, which are in one database. */
import { join } from "node:path";
import { arrayOf, isObject, objectOf, stringOf, type Value } from "../../model/value.ts";
import { isFile } from "../port/files.ts";
import { readDatabase, sqliteTime, type OpenDatabase, type Row } from "../port/sqlite.ts";
import type { Found, TranslatedSource, Unit } from "../port/source.ts";
import type { Block, TranscriptWriter } from "../port/transcript-writer.ts";
import { millisecondsOf, writeUsage } from "./usage.ts";

export const goose: TranslatedSource = {
  name: "goose",
  reads: "translated",
  roots({ env, homes, platform }) {
    if (env["GOOSE_PATH_ROOT"]) return [join(env["GOOSE_PATH_ROOT"], "data", "sessions")];
    const onWindows = (roaming: string): string => join(roaming, "Block", "goose", "data", "sessions");
    if (platform === "win32") return env["APPDATA"] ? [onWindows(env["APPDATA"])] : [];
    return homes.flatMap((home) => {
      if (home.startsWith("/mnt/")) return [onWindows(join(home, "AppData", "Roaming"))];
      const data = env["XDG_DATA_HOME"] ?? join(home, ".local", "share");
      // The second and the third folder belong to other builds of Goose. ccusage reads them too.
      const mac = platform === "darwin" ? [join(home, "Library", "Application Support", "goose", "sessions")] : [];
      return [join(data, "goose", "sessions"), join(data, "Block", "goose", "sessions"), ...mac];
    });
  },
  owns(path) {
    try {
      return isFile(databaseIn(path)) && readDatabase(databaseIn(path), isKnown);
    } catch {
      return false;
    }
  },
  units(root) {
    const path = databaseIn(root);
    if (!isFile(path)) return { units: [], problems: [] };
    try {
      return readDatabase(path, (database) => findSessions(database, root, path));
    } catch (error) {
      return { units: [], problems: [{ path, message: error instanceof Error ? error.message : String(error) }] };
    }
  },
  read: (unit, writer) => readDatabase(unit.path, (database) => readSession(database, unit, writer)),
  original: (unit, from) =>
    readDatabase(unit.path, (database) => {
      const [table, id = ""] = from.split("/");
      const isKnownTable = table === "messages" || table === "sessions" || table === "usage_ledger";
      const [row] = isKnownTable
        ? database.all(`SELECT * FROM ${table} WHERE id = ?`, table === "sessions" ? id : Number(id))
        : [];
      return { path: unit.path, text: row && JSON.stringify(row) };
    }),
};

function findSessions(database: OpenDatabase, root: string, path: string): Found {
  if (!isKnown(database)) {
    const message = "a database whose tables Skein does not know: is it of a newer version?";
    return { units: [], problems: [{ path, message }] };
  }
  const parent = database.columns("sessions").has("parent_session_id") ? ", parent_session_id AS parent" : "";
  const rows = database.all(`SELECT id, updated_at, working_dir, accumulated_total_tokens AS tokens${parent},
    (SELECT count(*) FROM messages WHERE session_id = sessions.id) AS messages FROM sessions`);
  const units = rows.map(({ id, updated_at: updated, working_dir: cwd, tokens, messages, ...row }): Unit => {
    const mtimeMs = sqliteTime(updated);
    const stamp = [updated, tokens, messages].map(String).join(" ");
    const head = { cwd: stringOf(cwd), parentId: stringOf(row["parent"]) };
    return { id: String(id), root, path, bytes: 0, mtimeMs, stamp, head };
  });
  return { units, problems: [] };
}

function databaseIn(root: string): string {
  return isFile(root) ? root : join(root, "sessions.db");
}

function isKnown(database: OpenDatabase): boolean {
  return database.columns("messages").has("content_json") && database.columns("sessions").has("working_dir");
}

function readSession(database: OpenDatabase, unit: Unit, writer: TranscriptWriter): void {
  const [session] = database.all("SELECT * FROM sessions WHERE id = ?", unit.id);
  if (!session) return;
  writer.place({ cwd: stringOf(session["working_dir"]) });
  const parent = stringOf(session["parent_session_id"]);
  if (parent !== null) writer.subagentOf({ sessionId: parent, description: stringOf(session["name"]) });
  const model = modelOf(session);
  const sql = "SELECT * FROM messages WHERE session_id = ? ORDER BY id";
  if (writer.wants === "head") return;
  if (writer.wants === "transcript") database.each(sql, [unit.id], (row) => writeMessage(row, unit, model, writer));
  writeUsage(database, { session, model, at: unit.mtimeMs }, writer);
  writer.title(stringOf(session["name"]) || stringOf(session["description"]), `sessions/${unit.id}`);
}

function modelOf(session: Row): string {
  return stringOf(jsonIn(session["model_config_json"])["model_name"]) ?? "";
}

function jsonIn(column: unknown): Value {
  try {
    return objectOf(JSON.parse(String(column)));
  } catch {
    return {};
  }
}

function writeMessage(row: Row, unit: Unit, model: string, writer: TranscriptWriter): void {
  const id = String(row["id"]);
  const placed = { id, from: `messages/${id}`, at: millisecondsOf(row["created_timestamp"]) };
  let parts: readonly Value[];
  try {
    parts = arrayOf(JSON.parse(String(row["content_json"]))).map(objectOf);
  } catch {
    writer.damage(`a message that is not JSON: ${String(row["content_json"]).slice(0, 200)}`);
    return;
  }
  const content = parts.map(blockOf);
  if (row["role"] === "assistant") {
    const call = `goose:${unit.id}:${stringOf(row["message_id"]) ?? id}`;
    const { requestedModel, resolvedModel } = objectOf(jsonIn(row["metadata_json"])["inference"]);
    writer.answer({ ...placed, call, model: stringOf(resolvedModel) ?? stringOf(requestedModel) ?? model, content });
  } else writer.user(content, placed);
}

function blockOf(part: Value): Block {
  if (part["type"] === "toolRequest") {
    const value = objectOf(objectOf(part["toolCall"])["value"]);
    return { type: "tool_use", id: part["id"], name: value["name"] ?? "unknown", input: objectOf(value["arguments"]) };
  }
  if (part["type"] === "image")
    return { type: "image", source: { type: "base64", media_type: part["mimeType"], data: part["data"] } };
  if (part["type"] !== "toolResponse") return part;
  const result = objectOf(part["toolResult"]);
  const { value } = result;
  const content = Array.isArray(value) ? value : arrayOf(objectOf(value)["content"]);
  // If a tool could not be called, the part has an error. If a tool failed, the part has a result.
  const isRejected = result["status"] === "error";
  const isError = isRejected || (isObject(value) && value["isError"] === true);
  const text = isRejected ? (stringOf(result["error"]) ?? "") : content;
  return { type: "tool_result", tool_use_id: part["id"], content: text, ...(isError && { is_error: true }) };
}
