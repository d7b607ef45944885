import type { DuckDBConnection } from "@duckdb/node-api";
import { type MemoryLimit, isOutOfMemory } from "../database/memory-limit.ts";
import type { Preparer } from "../plan/prepare-statement.ts";
import { failure } from "../sql-error.ts";
import { isCounted, scannedBytes } from "../transcripts/files.ts";
import type { CallerStatement } from "./caller-statement.ts";
import { type Column, type Row, columnsOf, hasAnswer, rowsOf } from "./values.ts";

export interface AnswerDeps {
  readonly connection: DuckDBConnection;
  readonly preparer: Preparer;
  readonly caller: CallerStatement;
  readonly memory: MemoryLimit;
}

/** The answer to one statement. It has no columns if the statement returns no rows. */
export interface SqlResult {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

/** The number of attempts if a file changes while a query reads it. */
export const ATTEMPTS = 3;

/**
 * Runs a statement and holds its answer in memory. If a file changed during a query, the query runs again, because line
 * numbers come from earlier counts. A statement that changes something runs only once.
 */
export async function runStatement({ preparer, caller, memory }: AnswerDeps, given: string): Promise<SqlResult> {
  await caller.begin();
  let counted = false;
  for (let attempt = 1; ;) {
    const { plan, files, statement, isQuery } = await preparer.prepare(given, { counted });
    const { sql } = plan.statement;
    const hasChanged = async (): Promise<boolean> => {
      if (!isQuery || attempt === ATTEMPTS) return false;
      if ((await preparer.refresh()).stamp === files.stamp) return false;
      attempt += 1;
      return true;
    };
    const reader = await caller
      .run(sql, () => statement.runAndReadAll())
      .catch(async (error: unknown): Promise<undefined> => {
        // The query first runs again with counted rows, because counting finds damaged and long lines. If it fails
        // again, the memory limit is raised.
        if (isQuery && !isCounted(files) && (isBadLine(error) || isOutOfMemory(error))) counted = true;
        else if (!(await hasChanged()) && !(await memory.raise(error))) throw failure(sql, error);
      });
    if (!reader || (scannedBytes(files) > 0 && (await hasChanged()))) continue;
    return hasAnswer(reader) ? { columns: columnsOf(reader), rows: rowsOf(reader) } : { columns: [], rows: [] };
  }
}

/** Returns true if DuckDB found a line that it cannot read, or that is longer than expected. */
function isBadLine(error: unknown): boolean {
  return error instanceof Error && /JSON|maximum_object_size/.test(error.message);
}
