import type { DuckDBConnection } from "@duckdb/node-api";
import { MORE_ROOM, isFull } from "./memory.ts";
import { SqlError } from "./sql-error.ts";

/** The caller's own statement, which may be stopped and may need more memory, apart from what is done for it. */
export interface CallerWork {
  /** A statement begins with nothing that the last one left. */
  begin(): Promise<void>;
  /** Runs a piece of it. What is stopped a moment before it begins is stopped again. */
  run<Result>(sql: string, work: () => Promise<Result>): Promise<Result>;
  /** Ends it; what is done for a statement must not end halfway. */
  stop(): void;
  /** Few statements hold more than their limit and cannot put it aside: those get more, once, rather than fail. */
  gotRoom(error: unknown): Promise<boolean>;
}

/** Without `megabytes` the limit is the caller's and stays. */
export function createCallerWork(connection: DuckDBConnection, megabytes: number | undefined): CallerWork {
  let isRunning = false;
  let isStopped = false;
  let isRoomy = false;
  return {
    async begin() {
      isStopped = false;
      if (!isRoomy) return;
      isRoomy = false;
      // Refused while more than that is held; then the next one has it too.
      await connection.run(`SET memory_limit = '${megabytes}MB'`).catch(() => undefined);
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
    async gotRoom(error) {
      if (!isFull(error) || megabytes === undefined || isRoomy) return false;
      isRoomy = true;
      await connection.run(`SET memory_limit = '${megabytes * MORE_ROOM}MB'`);
      return true;
    },
  };
}
