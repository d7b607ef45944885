import type { UsageTotals } from "@skein/protocol";

export function sum<Row>(rows: readonly Row[], of: (row: Row) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}

/** The tokens that were sent to the model: new, read from the cache, and written to it. */
export function sentTokens(row: Omit<UsageTotals, "output_tokens">): number {
  return row.input_tokens + row.cache_read_input_tokens + row.cache_creation_input_tokens;
}
