/**
 * Finds out whether a stream failed. DuckDB's Node package ends a failed stream like a complete stream, but a failure
 * aborts the transaction. Running the statement again then gives the error.
 */
import type { DuckDBConnection, DuckDBPreparedStatement } from "@duckdb/node-api";

/** Throws the error of a failed stream. `run` runs statements in the transaction of the stream. */
export async function checkEnd(
  prepared: DuckDBPreparedStatement,
  run: (sql: string) => Promise<unknown>,
): Promise<void> {
  try {
    await run("SELECT 1");
  } catch {
    await run("ROLLBACK");
    await prepared.run();
    throw new Error("The statement failed after its first rows.");
  }
}

/**
 * A transaction around a stream. If the caller began a transaction, the stream uses it, and the end of the stream is
 * not checked.
 */
export interface StreamTransaction {
  check(prepared: DuckDBPreparedStatement): Promise<void>;
  end(): Promise<void>;
}

export async function beginStream(connection: DuckDBConnection): Promise<StreamTransaction> {
  const run = async (sql: string): Promise<unknown> => connection.run(sql);
  const transactionId = async (): Promise<string> =>
    String((await connection.runAndReadAll("SELECT txid_current()")).getRows()[0]);
  // Outside of a transaction, each statement gets a new transaction id.
  const isCallers = (await transactionId()) === (await transactionId());
  if (isCallers) return { check: async () => {}, end: async () => {} };
  await run("BEGIN");
  return {
    check: (prepared) => checkEnd(prepared, run),
    // After a failure, the transaction may have ended already.
    end: async () => void (await run("ROLLBACK").catch(() => {})),
  };
}
