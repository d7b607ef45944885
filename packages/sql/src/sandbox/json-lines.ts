import type { DuckDBResult } from "@duckdb/node-api";
import { type Column, plainRow } from "../answer/values.ts";

export interface AnswerWriting {
  readonly result: DuckDBResult;
  readonly columns: readonly Column[];
  readonly limits: { readonly rows: number; readonly bytes: number };
  readonly write: (bytes: Uint8Array) => void;
}

/** Writes rows as JSON lines until the rows end or a limit is reached. */
export async function writeLines({ result, columns, limits, write }: AnswerWriting): Promise<{
  rows: number;
  truncated: boolean;
}> {
  const names = columns.map(({ name }) => JSON.stringify(name));
  const types = result.columnTypes();
  let rows = 0;
  let bytes = 0;
  for (;;) {
    const chunk = await result.fetchChunk();
    if (!chunk || chunk.rowCount === 0) return { rows, truncated: false };
    const lines: Buffer[] = [];
    let truncated = false;
    for (let at = 0; at < chunk.rowCount && !truncated; at += 1) {
      const values = plainRow(chunk.getRowValues(at), types);
      // Each cell becomes JSON separately, because JSON.stringify of a whole row would lose a column named __proto__.
      const cells = values.map((value, cell) => `${names[cell]}:${JSON.stringify(value)}`);
      const line = Buffer.from(`{"row":{${cells.join(",")}}}\n`);
      truncated = rows === limits.rows || bytes + line.length > limits.bytes;
      if (truncated) break;
      rows += 1;
      bytes += line.length;
      lines.push(line);
    }
    if (lines.length > 0) write(Buffer.concat(lines));
    if (truncated) return { rows, truncated };
  }
}
