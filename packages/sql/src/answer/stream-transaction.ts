/**
 * A stream that fails on its way ends like one that is at its end: DuckDB's driver does not tell them apart. A transaction
 * does, which is broken after a failure. What failed is learnt by running the statement again.
 */
import type { DuckDBConnection, DuckDBPreparedStatement } from "@duckdb/node-api";

/** Throws what a stream failed with, once it seems to be at its end. `run` runs in the transaction of the stream. */
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

/** A transaction around a stream. Inside one that the caller began there is none of ours, and nothing is checked. */
export interface StreamTransaction {
  check(prepared: DuckDBPreparedStatement): Promise<void>;
  end(): Promise<void>;
}

export async function beginStream(connection: DuckDBConnection): Promise<StreamTransaction> {
  const run = async (sql: string): Promise<unknown> => connection.run(sql);
  const transaction = async (): Promise<string> =>
    String((await connection.runAndReadAll("SELECT txid_current()")).getRows()[0]);
  // Outside of a transaction each statement is one of its own.
  const isCallers = (await transaction()) === (await transaction());
  if (isCallers) return { check: async () => {}, end: async () => {} };
  await run("BEGIN");
  return {
    check: (prepared) => checkEnd(prepared, run),
    // There may be none any more, after a failure.
    end: async () => void (await run("ROLLBACK").catch(() => {})),
  };
}
