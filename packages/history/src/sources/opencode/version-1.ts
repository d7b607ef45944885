/** Reads sessions of opencode 1.x from its database. */
import { isObject, objectOf, stringOf, type Value } from "../../model/value.ts";
import type { OpenDatabase, Row } from "../port/sqlite.ts";
import type { Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";
import { writeMessage, type Part } from "./messages.ts";

export function readFirst(database: OpenDatabase, unit: Unit, writer: TranscriptWriter): void {
  const [session] = database.all("SELECT * FROM session WHERE id = ?", unit.id);
  if (!session) return;
  writeHead(database, session, writer, parentCall);
  if (writer.wants === "head") return;
  const parts = new Map<string, Part[]>();
  // The end of a step is a short record. SQLite finds the length of a value without reading its overflow pages, so this
  // filter is fast.
  const chosen =
    writer.wants === "usage" ? ` AND octet_length(data) < ${longestStep} AND instr(data, '"step-finish"') > 0` : "";
  const sql = `SELECT id, message_id, data FROM part WHERE session_id = ?${chosen} ORDER BY id`;
  database.each(sql, [unit.id], (row) => {
    const part = { id: String(row["id"]), data: jsonOf(row["data"], writer) };
    const message = String(row["message_id"]);
    const known = parts.get(message);
    if (known) known.push(part);
    else parts.set(message, [part]);
  });
  // Prompts have no tokens, so they are left out. A text cannot match, because its quotes are escaped.
  const answers = writer.wants === "usage" ? ` AND instr(data, '"role":"user"') = 0` : "";
  database.each(
    `SELECT id, data FROM message WHERE session_id = ?${answers} ORDER BY time_created, id`,
    [unit.id],
    ({ id, data }) => writeMessage(String(id), jsonOf(data, writer), parts.get(String(id)) ?? [], writer),
  );
  // The title is written after the messages. So messages stay in their places when the session gets another title.
  writer.title(stringOf(session["title"]), `session/${unit.id}`);
  const revert = stringOf(session["revert"]);
  if (revert !== null) writer.other("revert", jsonOf(revert, writer), { from: `session/${unit.id}` });
}

/** The largest size of a record that ends a step. It contains tokens, a cost and the hash of a snapshot. */
const longestStep = 4000;

/** Writes the folder, the version and the parent of a session, for both versions of the session table. */
export function writeHead(
  database: OpenDatabase,
  session: Row,
  writer: TranscriptWriter,
  callIn: (database: OpenDatabase, parent: string, child: string) => string | null,
): void {
  writer.place({ cwd: stringOf(session["directory"]), version: stringOf(session["version"]) });
  const parent = stringOf(session["parent_id"]);
  if (parent === null) return;
  // Only transcripts get the id of the call, because finding it means reading the parent's messages.
  const callId = writer.wants === "transcript" ? callIn(database, parent, String(session["id"])) : null;
  const description = stringOf(session["title"]);
  writer.subagentOf({ sessionId: parent, callId, type: stringOf(session["agent"]), description });
}

function parentCall(database: OpenDatabase, parent: string, child: string): string | null {
  const rows = database.all(
    "SELECT data FROM part WHERE session_id = ? AND instr(data, ?) > 0 AND instr(data, '\"tool\"') > 0",
    parent,
    child,
  );
  for (const row of rows) {
    const data = jsonOf(row["data"]);
    const { metadata } = objectOf(data["state"]);
    if (stringOf(objectOf(metadata)["sessionId"]) === child) return stringOf(data["callID"]);
  }
  return null;
}

/** Returns the object in a column. If the value cannot be read, reports damage and returns an empty object. */
export function jsonOf(text: unknown, writer?: TranscriptWriter): Value {
  try {
    const value: unknown = JSON.parse(String(text));
    if (isObject(value)) return value;
  } catch {
    // The damage is reported after this block.
  }
  writer?.damage(`a row that is not a JSON object: ${String(text).slice(0, 200)}`);
  return {};
}

const tables = new Set(["session", "message", "part", "session_v2", "session_message"]);

/**
 * Returns the row of a place such as `part/prt_1` as JSON. For a message, the rows of its parts follow, because they
 * contain its text.
 */
export function originalRow(database: OpenDatabase, from: string): string | undefined {
  const [table = "", id = ""] = from.split("/");
  if (!tables.has(table) || !database.columns(table).has("id")) return undefined;
  const rows = database.all(`SELECT * FROM ${table} WHERE id = ?`, id);
  if (rows.length === 0) return undefined;
  const parts = table === "message" ? database.all("SELECT * FROM part WHERE message_id = ? ORDER BY id", id) : [];
  return [...rows, ...parts].map((row) => JSON.stringify(row)).join("\n");
}
