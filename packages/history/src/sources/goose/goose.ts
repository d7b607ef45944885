/** Goose: one database for all sessions. It has token sums per session, without separate counts for the cache. */
import { join } from "node:path";
import { arrayOf, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { isFile } from "../port/files.ts";
import { readDatabase, type OpenDatabase, type Row } from "../port/sqlite.ts";
import { SUM, type Found, type TranslatedSource, type Unit } from "../port/source.ts";
import type { Block, TranscriptWriter } from "../port/transcript-writer.ts";

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
      if (table !== "messages" && table !== "sessions") return undefined;
      const [row] = database.all(`SELECT * FROM ${table} WHERE id = ?`, table === "messages" ? Number(id) : id);
      return row && JSON.stringify(row);
    }),
};

function findSessions(database: OpenDatabase, root: string, path: string): Found {
  if (!isKnown(database)) {
    const message = "a database whose tables Skein does not know: is it of a newer version?";
    return { units: [], problems: [{ path, message }] };
  }
  const rows = database.all(`SELECT id, updated_at, accumulated_total_tokens AS tokens,
    (SELECT count(*) FROM messages WHERE session_id = sessions.id) AS messages FROM sessions`);
  const units = rows.map(({ id, updated_at: updated, tokens, messages }): Unit => {
    const mtimeMs = Date.parse(`${String(updated).replace(" ", "T")}Z`) || 0;
    return { id: String(id), root, path, bytes: 0, mtimeMs, stamp: [updated, tokens, messages].map(String).join(" ") };
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
  const model = modelOf(session);
  const sql =
    "SELECT id, message_id, role, content_json, created_timestamp FROM messages WHERE session_id = ? ORDER BY id";
  if (writer.wants === "head") return;
  if (writer.wants === "transcript") database.each(sql, [unit.id], (row) => writeMessage(row, unit, model, writer));
  writeUsage(session, unit, model, writer);
  writer.title(stringOf(session["name"]) || stringOf(session["description"]), `sessions/${unit.id}`);
}

function modelOf(session: Row): string {
  try {
    const config: unknown = JSON.parse(String(session["model_config_json"]));
    return stringOf(objectOf(config)["model_name"]) ?? "";
  } catch {
    return "";
  }
}

function writeMessage(row: Row, unit: Unit, model: string, writer: TranscriptWriter): void {
  const id = String(row["id"]);
  const placed = { id, from: `messages/${id}`, at: Number(row["created_timestamp"]) * 1000 };
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
    writer.answer({ ...placed, call, model, content });
  } else writer.user(content, placed);
}

function blockOf(part: Value): Block {
  if (part["type"] === "toolRequest") {
    const value = objectOf(objectOf(part["toolCall"])["value"]);
    return { type: "tool_use", id: part["id"], name: value["name"] ?? "unknown", input: objectOf(value["arguments"]) };
  }
  if (part["type"] !== "toolResponse") return part;
  const result = objectOf(part["toolResult"]);
  const { value } = result;
  const content = Array.isArray(value) ? value : arrayOf(objectOf(value)["content"]);
  const isError = result["status"] === "error";
  const text = isError ? (stringOf(result["error"]) ?? "") : content;
  return { type: "tool_result", tool_use_id: part["id"], content: text, ...(isError && { is_error: true }) };
}

/** `accumulated_*` are sums; the plain columns are those of the last call, and are used only without sums. */
function writeUsage(session: Row, unit: Unit, model: string, writer: TranscriptWriter): void {
  const of = (key: string): number =>
    numberOf(session[`accumulated_${key}_tokens`]) ?? numberOf(session[`${key}_tokens`]) ?? 0;
  const tokens = { input: of("input"), output: of("output") };
  if (tokens.input + tokens.output === 0) return;
  writer.usage(`${SUM}goose:${unit.id}`, model, tokens, { at: unit.mtimeMs, from: `sessions/${unit.id}` });
}
