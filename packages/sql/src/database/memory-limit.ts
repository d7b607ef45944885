/**
 * DuckDB's memory limit. Data above the limit is written to its temporary folder, if that part of the query plan
 * supports it.
 */
import type { DuckDBConnection } from "@duckdb/node-api";

/**
 * Some statements need more memory but cannot write to disk. The limit is raised by the first step, and by the second
 * if the statement fails again.
 */
const EXTRA_MEGABYTES = [700, 2200];

export interface MemoryLimit {
  /** Raises the limit if this error was a lack of memory. Returns whether the statement may be tried again. */
  raise(error: unknown): Promise<boolean>;
  /** Sets the default limit again. */
  reset(): Promise<void>;
}

/** Without `megabytes`, the limit was set by the caller and is never raised. */
export function createMemoryLimit(connection: DuckDBConnection, megabytes: number | undefined): MemoryLimit {
  let step = 0;
  const set = async (): Promise<void> => {
    if (megabytes === undefined) return;
    const limit = megabytes + (EXTRA_MEGABYTES[step - 1] ?? 0);
    // DuckDB rejects a limit below its current use. The next statement then keeps the higher limit.
    await connection.run(`SET memory_limit = '${limit}MB'`).catch(() => undefined);
  };
  return {
    async raise(error) {
      if (!isOutOfMemory(error) || megabytes === undefined || step === EXTRA_MEGABYTES.length) return false;
      step += 1;
      await set();
      return true;
    },
    async reset() {
      if (step === 0) return;
      step = 0;
      await set();
    },
  };
}

export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Out of Memory");
}
