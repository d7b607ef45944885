import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Sessions that a running Claude Code has open, by its own register, and the number of the process. */
export function liveSessions(root: string): ReadonlyMap<string, number> {
  const live = new Map<string, number>();
  for (const name of namesIn(join(root, "sessions"))) {
    // Beside them lie key files, which are nobody's business.
    if (!/^\d+\.json$/.test(name)) continue;
    try {
      const entry = JSON.parse(readFileSync(join(root, "sessions", name), "utf8")) as {
        pid?: unknown;
        sessionId?: unknown;
      };
      const pid = typeof entry.pid === "number" ? entry.pid : Number(name.slice(0, -".json".length));
      if (typeof entry.sessionId === "string" && isRunning(pid)) live.set(entry.sessionId, pid);
    } catch {
      // Gone again, or being written: the check of the transcript itself remains.
    }
  }
  return live;
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of somebody else is running too.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
