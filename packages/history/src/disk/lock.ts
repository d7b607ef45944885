import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";

/**
 * Runs `work` while it holds the lock of a folder. If the process is killed, the operating system releases the lock.
 * Returns undefined if another process holds the lock for longer than `patienceMs`.
 */
export async function withLock<T>(
  folder: string,
  patienceMs: number,
  work: () => Promise<T>,
): Promise<{ value: T } | undefined> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { DatabaseSync: Database } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  // SQLite must not wait for the lock, because the wait would block this process, which may itself hold the lock.
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
