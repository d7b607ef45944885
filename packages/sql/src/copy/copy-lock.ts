import { chmodSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

/** The system's lock keeps other processes out, but not other builds in this process. */
const held = new Set<string>();

/** Does the work while holding a lock. Returns undefined if someone else holds it. */
export async function withCopyLock<Result>(file: string, work: () => Promise<Result>): Promise<Result | undefined> {
  if (held.has(file)) return undefined;
  held.add(file);
  try {
    const lock = await openLock(file);
    if (!lock) return undefined;
    try {
      return await work();
    } finally {
      lock.closeSync();
    }
  } finally {
    held.delete(file);
  }
}

/** Opens a database that only one process can have open. The system releases it when the process ends for any reason. */
async function openLock(file: string): Promise<DuckDBInstance | undefined> {
  try {
    const instance = await DuckDBInstance.create(file);
    chmodSync(file, 0o600);
    return instance;
  } catch (error) {
    if (error instanceof Error && error.message.includes("Could not set lock")) return undefined;
    throw error;
  }
}
