import { isMissingFile } from "../plan/prepare-statement.ts";
import { SqlError, failure } from "../sql-error.ts";
import { areNumbersRight, isCounted } from "../transcripts/files.ts";
import { ATTEMPTS, type AnswerDeps } from "./run-statement.ts";
import { beginStream } from "./stream-transaction.ts";
import { type Column, type Row, columnsOf, hasAnswer, plainRow, rowsOf } from "./values.ts";

/** The answer to one statement, in pieces. */
export interface SqlStream {
  readonly columns: readonly Column[];
  readonly rows: AsyncGenerator<readonly Row[]>;
}

/**
 * Up to this many rows are held in memory before they are returned, so that the query can be run again. For longer answers, the
 * files are counted first.
 */
const SHORT_ROWS = 10_000;

/** Runs a statement without holding its answer in memory. */
export async function streamStatement(deps: AnswerDeps, given: string): Promise<SqlStream> {
  await deps.caller.begin();
  const files = await deps.preparer.refresh();
  const short = isCounted(files) ? undefined : await shortAnswer(deps, given);
  return short ?? longAnswer(deps, given);
}

/** Rows that were returned cannot be taken back, so all files are counted before the first row. */
async function longAnswer(deps: AnswerDeps, given: string): Promise<SqlStream> {
  const { connection, preparer, caller, memory } = deps;
  const { plan, files, statement, isQuery } = await preparer.prepare(given, { counted: true });
  const { sql } = plan.statement;
  const transaction = isQuery ? await beginStream(connection) : undefined;
  const result = await caller
    .run(sql, () => statement.stream())
    .catch(async (error: unknown): Promise<undefined> => {
      await transaction?.end();
      if (await memory.raise(error)) return;
      if (isMissingFile(error) && (await preparer.refresh()).stamp !== files.stamp) return;
      throw failure(sql, error);
    });
  if (!result) return longAnswer(deps, given);
  const isAnswer = hasAnswer(result);
  return { columns: isAnswer ? columnsOf(result) : [], rows: rows() };

  async function* rows(): AsyncGenerator<readonly Row[]> {
    if (!result) return;
    try {
      const chunks = result.yieldRows();
      const types = result.columnTypes();
      for (;;) {
        const { done, value } = await caller.run(sql, () => chunks.next());
        if (done === true) break;
        if (isAnswer) yield value.map((row) => plainRow(row, types));
      }
      await caller.run(sql, async () => transaction?.check(statement));
    } catch (error) {
      throw failure(sql, error);
    } finally {
      await transaction?.end();
    }
    if (isQuery && plan.form.rows === "numbered" && !areNumbersRight(files, await preparer.refresh()))
      throw new SqlError(
        sql,
        "A file changed while it was read, so line numbers may be wrong. Run the statement again.",
      );
  }
}

/**
 * A short answer is held before it is returned. Then the files need not be counted first, and the query can be run again if a
 * file changes in the meantime. Undefined if the answer is longer, or if anything failed.
 */
async function shortAnswer(deps: AnswerDeps, given: string, attempt = 1): Promise<SqlStream | undefined> {
  const { connection, preparer, caller } = deps;
  const { plan, files, statement, isQuery } = await preparer.prepare(given, { counted: false });
  const { sql } = plan.statement;
  if (!isQuery || attempt > ATTEMPTS) return undefined;
  const transaction = await beginStream(connection);
  try {
    const reader = await caller.run(sql, () => statement.streamAndReadUntil(SHORT_ROWS));
    if (!reader.done) return undefined;
    await caller.run(sql, () => transaction.check(statement));
    const answer = { columns: columnsOf(reader), rows: once(rowsOf(reader)) };
    if (plan.form.rows !== "numbered" || (await preparer.refresh()).stamp === files.stamp) return answer;
  } catch {
    return undefined;
  } finally {
    await transaction.end();
  }
  return shortAnswer(deps, given, attempt + 1);
}

async function* once(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield await Promise.resolve(rows);
}
