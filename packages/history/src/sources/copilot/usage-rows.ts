/** Reads the model calls in `session-store.db`. */
import { numberOf, stringOf } from "../../model/value.ts";
import { isFile } from "../port/files.ts";
import { readDatabase, type OpenDatabase } from "../port/sqlite.ts";
import type { Original } from "../port/source.ts";
import type { CallTokens } from "../port/transcript-writer.ts";

export interface CallRow {
  readonly id: string;
  readonly model: string;
  readonly tokens: CallTokens;
  readonly at: number | string | null;
  /** The place of the call: a table and a row, such as `assistant_usage_events/1`, or a file and a line. */
  readonly from: string;
}

/**
 * Converts the counts. Copilot's input includes tokens read from the cache and written to it. Its output includes
 * reasoning, except for models of Google. ccusage counts in the same way, and its authors checked this with their
 * sessions.
 */
export function tokensOf(model: string, count: (name: string) => number): CallTokens {
  const [read, write] = [count("cacheRead"), count("cacheWrite")];
  const thoughtsApart = model.startsWith("gemini-") ? count("reasoning") : 0;
  return {
    input: Math.max(0, count("input") - read - write),
    cacheRead: read,
    cacheWrite: write,
    output: count("output") + thoughtsApart,
    reasoning: count("reasoning"),
  };
}

const columns = {
  input: "input_tokens",
  output: "output_tokens",
  cacheRead: "cache_read_tokens",
  cacheWrite: "cache_write_tokens",
  reasoning: "reasoning_tokens",
} as const;

export function callRows(
  database: OpenDatabase,
  report: (message: string) => void,
): ReadonlyMap<string, readonly CallRow[]> {
  const rows = new Map<string, CallRow[]>();
  // Copilot added the columns in different versions, so some may be missing.
  const known = database.columns("assistant_usage_events");
  if (!known.has("session_id") || !known.has("id")) {
    // Older databases do not have this table, so only a database without any known table is reported.
    if (known.size > 0 || !database.columns("turns").has("session_id"))
      report("a database whose tables Skein does not know: is it of a newer version?");
    return rows;
  }
  const chosen = ["id", "session_id", "model", "created_at", ...Object.values(columns)].filter((name) =>
    known.has(name),
  );
  database.each(`SELECT ${chosen.join(", ")} FROM assistant_usage_events ORDER BY id`, [], (row) => {
    const model = stringOf(row["model"]) ?? "";
    const tokens = tokensOf(model, (name) => numberOf(row[columns[name as keyof typeof columns]]) ?? 0);
    const id = String(row["id"]);
    const call = { id, model, tokens, at: stringOf(row["created_at"]), from: `assistant_usage_events/${id}` };
    const session = String(row["session_id"]);
    const before = rows.get(session);
    if (before) before.push(call);
    else rows.set(session, [call]);
  });
  return rows;
}

const tables = new Set(["assistant_usage_events", "sessions", "turns"]);

/** Returns the row at a place such as `turns/1`. */
export function originalRow(path: string, from: string): Original {
  const [table = "", id = ""] = from.split("/");
  if (!tables.has(table) || !isFile(path)) return { path, text: undefined };
  const [row] = readDatabase(path, (database) =>
    database.columns(table).has("id") ? database.all(`SELECT * FROM ${table} WHERE id = ?`, id) : [],
  );
  return { path, text: row && JSON.stringify(row) };
}
