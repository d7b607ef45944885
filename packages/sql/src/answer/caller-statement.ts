import type { DuckDBConnection } from "@duckdb/node-api";
import type { Memory } from "../database/memory.ts";
import { SqlError } from "../sql-error.ts";

/** The caller's own statement, which may be stopped, apart from what is done for it. */
export interface CallerWork {
  /** A statement begins with nothing that the last one left. */
  begin(): Promise<void>;
  /** Runs a piece of it. What is stopped a moment before it begins is stopped again. */
  run<Result>(sql: string, work: () => Promise<Result>): Promise<Result>;
  /** Ends it; what is done for a statement must not end halfway. */
  stop(): void;
}

export function createCallerWork(connection: DuckDBConnection, memory: Memory): CallerWork {
  let isRunning = false;
  let isStopped = false;
  return {
    async begin() {
      isStopped = false;
      await memory.reset();
    },
    async run(sql, work) {
      if (isStopped) throw new SqlError(sql, "INTERRUPT Error: Interrupted!");
      isRunning = true;
      const again = setInterval(() => isStopped && connection.interrupt(), 20);
      try {
        return await work();
      } finally {
        clearInterval(again);
        isRunning = false;
      }
    },
    stop() {
      isStopped = true;
      if (isRunning) connection.interrupt();
    },
  };
}
