/**
 * What a sandboxed process says, on a pipe of its own: DuckDB prints to standard output when a statement makes it.
 *
 * A frame is a letter, the length of what follows in four bytes, and that: bytes of the answer, or JSON.
 */
import type { Column } from "../answer/values.ts";

/** A question, as it is written to the process. */
export interface Job {
  /** The database with the rows; null for a process that only shows that it works. */
  readonly file: string | null;
  readonly statement: string;
  readonly format: "jsonl" | "arrow";
  readonly rows: number;
  readonly bytes: number;
  /** What it should find in its root folder, if it is to look whether there is more. */
  readonly places?: readonly string[];
  /** Whether it should be unable to make sockets, if it is to look. */
  readonly isFiltered?: boolean;
}

export type Frame =
  /** The statement runs and has these columns. */
  | { readonly kind: "columns"; readonly columns: readonly Column[] }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly rows: number; readonly truncated: boolean }
  | { readonly kind: "failed"; readonly code: "statement_failed" | "over_limit"; readonly message: string };

/** The letter and the length. */
export const HEAD_BYTES = 5;

export function encoded(frame: Frame): Uint8Array {
  const payload = frame.kind === "data" ? frame.bytes : Buffer.from(JSON.stringify(frame));
  const head = Buffer.alloc(HEAD_BYTES);
  head.write(frame.kind === "data" ? "D" : "J", 0, "latin1");
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}
