/**
 * The messages of a sandboxed process. They have their own pipe, because a statement can make DuckDB print to standard output.
 *
 * A message is one letter (D for bytes of the answer, J for JSON), the length of its content in four bytes, and the content.
 */
import type { Column } from "../answer/values.ts";

/** A query, as it is sent to the process. */
export interface Job {
  /** The database with the rows; null if there are none. */
  readonly file: string | null;
  readonly statement: string;
  readonly format: "jsonl" | "arrow";
  readonly rows: number;
  readonly bytes: number;
  /**
   * Everything that may be in the root folder of the process. If given, the process checks that there is nothing else.
   */
  readonly places?: readonly string[];
  /** With `places`: whether the process must be unable to make sockets. */
  readonly isFiltered?: boolean;
}

export type PipeMessage =
  /** The statement is running and has these columns. */
  | { readonly kind: "columns"; readonly columns: readonly Column[] }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly rows: number; readonly truncated: boolean }
  | { readonly kind: "failed"; readonly code: "statement_failed" | "over_limit"; readonly message: string };

/** The number of bytes before the content: one for the letter, four for the length. */
export const HEADER_BYTES = 5;

export function encodeMessage(message: PipeMessage): Uint8Array {
  const payload = message.kind === "data" ? message.bytes : Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(HEADER_BYTES);
  head.write(message.kind === "data" ? "D" : "J", 0, "latin1");
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}
