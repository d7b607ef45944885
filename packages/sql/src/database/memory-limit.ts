/**
 * Sets DuckDB's memory limit. DuckDB writes data above the limit to its temporary folder, if the part of the query plan
 * supports this.
 */
import type { DuckDBConnection } from "@duckdb/node-api";

/**
 * The megabytes that are added to the default limit after the first and after the second failure of a statement. Some
 * statements need more memory and cannot write to disk.
 */
const EXTRA_MEGABYTES = [700, 2200];

export interface MemoryLimit {
  /**
   * Raises the limit if the error was a lack of memory. Returns true if the limit was raised and the statement may run
   * again.
   */
  raise(error: unknown): Promise<boolean>;
  /** Sets the limit back to its default. */
  reset(): Promise<void>;
}

/** Creates a memory limit. Without `megabytes`, the caller set the limit, and it is never raised. */
export function createMemoryLimit(connection: DuckDBConnection, megabytes: number | undefined): MemoryLimit {
  let step = 0;
  const set = async (): Promise<void> => {
    if (megabytes === undefined) return;
    const limit = megabytes + (EXTRA_MEGABYTES[step - 1] ?? 0);
    // If DuckDB uses more memory than the new limit, it rejects the limit. The next statement keeps the higher limit.
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
