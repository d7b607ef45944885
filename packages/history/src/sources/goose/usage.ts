/**
 * Reads the tokens of Goose. Since 2026, a table has one row per model call, and one row for all calls before the table
 * existed. Older databases have only sums per session. The oldest sums do not count the cache separately.
 */
import { numberOf, stringOf } from "../../model/value.ts";
import type { OpenDatabase, Row } from "../port/sqlite.ts";
import { SUM } from "../port/source.ts";
import type { CallTokens, TranscriptWriter } from "../port/transcript-writer.ts";

interface Spender {
  readonly session: Row;
  readonly model: string;
  /** The time of the session's last change. */
  readonly at: number;
}

type Counts = Readonly<Record<(typeof columns)[number], number>>;

const columns = ["input", "output", "cache_read", "cache_write"] as const;

export function writeUsage(database: OpenDatabase, spender: Spender, writer: TranscriptWriter): void {
  const { session, model, at } = spender;
  const id = String(session["id"]);
  const rows = database.columns("usage_ledger").has("session_id")
    ? database.all("SELECT * FROM usage_ledger WHERE session_id = ? ORDER BY id", id)
    : [];
  const counted = { input: 0, output: 0, cache_read: 0, cache_write: 0 };
  for (const row of rows) {
    const counts = countsOf((name) => numberOf(row[`${name}_tokens`]));
    for (const name of columns) counted[name] += counts[name];
    const call = `${row["cost_source"] === "carried_forward" ? SUM : ""}goose:${id}:${String(row["id"])}`;
    const paid = numberOf(row["cost"]) ?? 0;
    writer.usage(call, stringOf(row["model"]) ?? model, tokensOf(counts), {
      at: millisecondsOf(row["created_timestamp"]),
      from: `usage_ledger/${String(row["id"])}`,
      ...(paid > 0 && { reportedUsd: paid }),
    });
  }
  // Columns without `accumulated_` count only the last call. They are used only if there are no sums.
  const sums = countsOf(
    (name) => numberOf(session[`accumulated_${name}_tokens`]) ?? numberOf(session[`${name}_tokens`]),
  );
  const rest = countsOf((name) => Math.max(0, sums[name] - counted[name]));
  if (rest.input + rest.output > 0)
    writer.usage(`${SUM}goose:${id}`, model, tokensOf(rest), { at, from: `sessions/${id}` });
}

function countsOf(count: (name: (typeof columns)[number]) => number | null): Counts {
  const of = (name: (typeof columns)[number]): number => Math.max(0, count(name) ?? 0);
  return { input: of("input"), output: of("output"), cache_read: of("cache_read"), cache_write: of("cache_write") };
}

/** Converts the counts. Goose's input includes the tokens that were read from the cache and written to it. */
function tokensOf({ input, output, cache_read: cacheRead, cache_write: cacheWrite }: Counts): CallTokens {
  return { input: Math.max(0, input - cacheRead - cacheWrite), output, cacheRead, cacheWrite };
}

/** Returns milliseconds. Goose writes seconds, but some clients write milliseconds. */
export function millisecondsOf(time: unknown): number {
  const number = Number(time);
  return number > 1e10 ? number : number * 1000;
}
