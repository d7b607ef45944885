/**
 * The messages of a sandboxed process. They use a separate pipe, because a statement can make DuckDB print to standard
 * output.
 *
 * A message is one letter (D for bytes of the answer, J for JSON), the length of its content in four bytes, and the
 * content.
 */
import type { Column } from "../answer/values.ts";

/** The query that the server sends to the process. */
export interface Job {
  /** The database with the rows, or null. */
  readonly file: string | null;
  readonly statement: string;
  readonly format: "jsonl" | "arrow";
  readonly rows: number;
  readonly bytes: number;
  /**
   * The names that the root folder of the process may contain. If given, the process checks that the folder contains
   * nothing else.
   */
  readonly places?: readonly string[];
  /** Whether the process must be unable to make sockets. Checked only if `places` is given. */
  readonly isFiltered?: boolean;
}

export type PipeMessage =
  /** The statement is running and has these columns. */
  | { readonly kind: "columns"; readonly columns: readonly Column[] }
  | { readonly kind: "data"; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly rows: number; readonly truncated: boolean }
  | { readonly kind: "failed"; readonly code: "statement_failed" | "over_limit"; readonly message: string };

/** The number of bytes before the content: one byte for the letter and four bytes for the length. */
export const HEADER_BYTES = 5;

export function encodeMessage(message: PipeMessage): Uint8Array {
  const payload = message.kind === "data" ? message.bytes : Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(HEADER_BYTES);
  head.write(message.kind === "data" ? "D" : "J", 0, "latin1");
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}
