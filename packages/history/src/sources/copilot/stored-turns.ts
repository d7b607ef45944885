/**
 * Reads sessions that are only in `session-store.db`. Copilot may remove the folder of a session, but keeps a row with
 * the prompt and the answer of each turn. The rows contain no tool calls.
 */
import { numberOf, stringOf } from "../../model/value.ts";
import { readDatabase, sqliteTime, type OpenDatabase } from "../port/sqlite.ts";
import type { Unit } from "../port/source.ts";
import type { TranscriptWriter } from "../port/transcript-writer.ts";
import { plainModel } from "./events.ts";
import type { CallRow } from "./usage-rows.ts";

export interface StoredSession {
  readonly cwd: string | null;
  readonly branch: string | null;
  readonly title: string | null;
  readonly updatedMs: number;
  readonly turns: number;
  /** The size of all answers. It changes when an answer is added to the row of a turn. */
  readonly bytes: number;
}

/** Returns the sessions that have turns, by their ids. */
export function storedSessions(
  database: OpenDatabase,
  report: (message: string) => void,
): ReadonlyMap<string, StoredSession> {
  const found = new Map<string, StoredSession>();
  const columns = database.columns("sessions");
  if (columns.size === 0) return found;
  if (!columns.has("id") || !hasTurns(database)) {
    report("a database without the turns of its sessions: is it of a newer version?");
    return found;
  }
  const counts = `SELECT session_id, count(*) AS turns, max(timestamp) AS last,
    sum(coalesce(octet_length(assistant_response), 0)) AS bytes FROM turns GROUP BY session_id`;
  database.each(`SELECT * FROM sessions JOIN (${counts}) ON session_id = id`, [], (row) => {
    found.set(String(row["id"]), {
      cwd: stringOf(row["cwd"]) || null,
      branch: stringOf(row["branch"]) || null,
      title: stringOf(row["summary"]),
      updatedMs: Math.max(sqliteTime(row["updated_at"]), sqliteTime(row["last"])),
      turns: numberOf(row["turns"]) ?? 0,
      bytes: numberOf(row["bytes"]) ?? 0,
    });
  });
  return found;
}

function hasTurns(database: OpenDatabase): boolean {
  const columns = database.columns("turns");
  return ["id", "session_id", "user_message", "assistant_response", "timestamp"].every((name) => columns.has(name));
}

/** Writes the turns and the model calls of a session. A turn may have several calls. */
export function readStored(
  unit: Unit,
  session: StoredSession,
  rows: readonly CallRow[],
  writer: TranscriptWriter,
): void {
  const { cwd, branch, title } = session;
  writer.place({ cwd, branch });
  if (writer.wants === "transcript") {
    // Some versions do not record the turn of a call, so all answers get the model of the last call.
    const model = plainModel(rows.at(-1)?.model ?? "");
    const sql = "SELECT * FROM turns WHERE session_id = ? ORDER BY id";
    readDatabase(unit.path, (database) =>
      database.each(sql, [unit.id], (row) => {
        const from = `turns/${String(row["id"])}`;
        const at = sqliteTime(row["timestamp"]);
        const [prompt, text] = [stringOf(row["user_message"]), stringOf(row["assistant_response"])];
        if (prompt) writer.user(prompt, { id: `${from}:prompt`, from, at });
        if (!text) return;
        const content = [{ type: "text", text }];
        writer.answer({ call: `copilot:${unit.id}:${from}`, model, content, from, at, stopReason: "end_turn" });
      }),
    );
  }
  for (const { id, model, tokens, at, from } of rows)
    writer.usage(`copilot:${unit.id}:${id}`, plainModel(model), tokens, { at, from });
  writer.title(title, `sessions/${unit.id}`);
}
