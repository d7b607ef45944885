/** How much DuckDB may hold. What does not fit it writes aside, where it can. */
import type { DuckDBConnection } from "@duckdb/node-api";

/** Few statements hold more than their limit and cannot put it aside: those get so many megabytes more rather than fail, one after the other. */
const ROOMS = [700, 2200];

export interface Memory {
  /** Answers whether there is more room now than when this error came. */
  gotRoom(error: unknown): Promise<boolean>;
  /** From now on the usual. */
  reset(): Promise<void>;
}

/** Without `megabytes` the limit is the caller's and stays. */
export function createMemory(connection: DuckDBConnection, megabytes: number | undefined): Memory {
  let room = 0;
  const set = async (): Promise<void> => {
    if (megabytes === undefined) return;
    const limit = megabytes + (ROOMS[room - 1] ?? 0);
    // Refused while more than that is held; then whoever comes next has it too.
    await connection.run(`SET memory_limit = '${limit}MB'`).catch(() => undefined);
  };
  return {
    async gotRoom(error) {
      if (!isFull(error) || megabytes === undefined || room === ROOMS.length) return false;
      room += 1;
      await set();
      return true;
    },
    async reset() {
      if (room === 0) return;
      room = 0;
      await set();
    },
  };
}

export function isFull(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Out of Memory");
}
