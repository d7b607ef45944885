import type { DuckDBConnection } from "@duckdb/node-api";
import type { MemoryLimit } from "../database/memory-limit.ts";
import { SqlError } from "../sql-error.ts";

/**
 * Runs the statement of the caller, who may stop it. Statements that Skein adds are not stopped, because they must not
 * end in the middle.
 */
export interface CallerStatement {
  /** Prepares for a new statement: forgets the stop of the last statement, and sets the default memory limit. */
  begin(): Promise<void>;
  /** Runs a part of the statement. Fails immediately if the statement was stopped before. */
  run<Result>(sql: string, work: () => Promise<Result>): Promise<Result>;
  stop(): void;
}

/**
 * The time between interrupts of a stopped statement. DuckDB ignores an interrupt that comes just before it starts to
 * work.
 */
const INTERRUPT_MS = 20;

export function createCallerStatement(connection: DuckDBConnection, memory: MemoryLimit): CallerStatement {
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
      const again = setInterval(() => isStopped && connection.interrupt(), INTERRUPT_MS);
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
