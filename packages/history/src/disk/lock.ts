import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";

/**
 * Runs `work` while holding the lock of a folder. The lock is SQLite's: the system releases it when the process is
 * killed. Returns undefined if another process holds the lock for longer than `patienceMs`.
 */
export async function withLock<T>(
  folder: string,
  patienceMs: number,
  work: () => Promise<T>,
): Promise<{ value: T } | undefined> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { DatabaseSync: Database } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  // If SQLite waited for the lock, it would stop this whole process, which may be the one that holds the lock.
  const database = new Database(join(folder, "lock.sqlite"), { timeout: 0 });
  try {
    for (const until = performance.now() + patienceMs; !hasTaken(database);) {
      if (performance.now() > until) return undefined;
      await setTimeout(20);
    }
    return { value: await work() };
  } finally {
    database.close();
  }
}

function hasTaken(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
    if (code === 5) return false;
    throw error;
  }
}
