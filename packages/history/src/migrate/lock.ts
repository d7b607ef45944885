import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/**
 * Runs while nobody else runs in the same folder. The lock is SQLite's, which the system takes back from a process that
 * was killed. Undefined if somebody else has it for longer than the patience lasts.
 */
export async function withLock<T>(
  folder: string,
  patienceMs: number,
  work: () => Promise<T>,
): Promise<{ value: T } | undefined> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const database = new DatabaseSync(join(folder, "lock.sqlite"), { timeout: patienceMs });
  try {
    try {
      database.exec("BEGIN EXCLUSIVE");
    } catch (error) {
      const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
      if (code === 5) return undefined;
      throw error;
    }
    return { value: await work() };
  } finally {
    database.close();
  }
}
