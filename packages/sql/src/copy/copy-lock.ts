import { chmodSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

/** The copies that this process is building. The operating system's file lock keeps out only other processes. */
const held = new Set<string>();

/** Runs `work` while holding the lock. Returns undefined if another build holds the lock. */
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

/**
 * Opens the lock file as a database, which only one process can have open. The operating system closes the file
 * whenever the process ends.
 */
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
