/** The rows of `session-store.db`: one per model call. */
import { numberOf, stringOf } from "../../model/value.ts";
import { isFile } from "../port/files.ts";
import { readDatabase } from "../port/sqlite.ts";
import type { Original, Problem } from "../port/source.ts";
import type { CallTokens } from "../port/transcript-writer.ts";

/** One model call of a session. */
export interface CallRow {
  readonly id: string;
  readonly model: string;
  readonly tokens: CallTokens;
  readonly at: number | string | null;
  /** Where the call was read from. */
  readonly from: string;
}

/**
 * Copilot's input includes tokens read from the cache and written to it. Its output includes reasoning, except for models of
 * Google. Both were compared with ccusage, whose authors checked them against their own sessions.
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

export function callRows(path: string, problems: Problem[]): ReadonlyMap<string, readonly CallRow[]> {
  const rows = new Map<string, CallRow[]>();
  if (!isFile(path)) return rows;
  try {
    readDatabase(path, (database) => {
      // Columns were added one by one in different versions.
      const known = database.columns("assistant_usage_events");
      if (!known.has("session_id") || !known.has("id")) {
        // Older databases do not have this table, so only a database without any known table is reported.
        if (known.size > 0 || !database.columns("turns").has("session_id"))
          problems.push({ path, message: "a database whose tables Skein does not know: is it of a newer version?" });
        return;
      }
      const chosen = ["id", "session_id", "model", "created_at", ...Object.values(columns)].filter((name) =>
        known.has(name),
      );
      database.each(`SELECT ${chosen.join(", ")} FROM assistant_usage_events ORDER BY id`, [], (row) => {
        const tokens = tokensOf(
          stringOf(row["model"]) ?? "",
          (name) => numberOf(row[columns[name as keyof typeof columns]]) ?? 0,
        );
        const session = String(row["session_id"]);
        const call = {
          id: String(row["id"]),
          model: stringOf(row["model"]) ?? "",
          tokens,
          at: stringOf(row["created_at"]),
          from: `assistant_usage_events/${String(row["id"])}`,
        };
        rows.set(session, [...(rows.get(session) ?? []), call]);
      });
    });
  } catch (error) {
    problems.push({ path, message: error instanceof Error ? error.message : String(error) });
  }
  return rows;
}

/** The row of a model call. */
export function originalCall(path: string, id: string): Original {
  if (!isFile(path)) return { path, text: undefined };
  const [row] = readDatabase(path, (database) =>
    database.columns("assistant_usage_events").has("id")
      ? database.all("SELECT * FROM assistant_usage_events WHERE id = ?", id)
      : [],
  );
  return { path, text: row && JSON.stringify(row) };
}
