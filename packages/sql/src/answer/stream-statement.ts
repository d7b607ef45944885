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
 * The largest number of rows of an answer that is held in memory before its first row is returned, so that the query
 * can run again. For a longer answer, the files are counted first.
 */
const SHORT_ROWS = 10_000;

/** Runs a statement without holding its answer in memory. */
export async function streamStatement(deps: AnswerDeps, given: string): Promise<SqlStream> {
  await deps.caller.begin();
  const files = await deps.preparer.refresh();
  const short = isCounted(files) ? undefined : await shortAnswer(deps, given);
  return short ?? longAnswer(deps, given);
}

/**
 * Returns an answer of any length. It counts all files before the first row, because returned rows cannot be taken
 * back.
 */
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
 * Returns a short answer, which is held in memory first. So files need not be counted, and the query can run again if a
 * file changes. Returns undefined if the answer is longer, or if anything failed.
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
