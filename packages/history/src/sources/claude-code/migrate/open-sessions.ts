import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns the process id of each session that is open in Claude Code, from the files in which Claude Code lists them.
 */
export function openSessions(root: string): ReadonlyMap<string, number> {
  const live = new Map<string, number>();
  for (const name of namesIn(join(root, "sessions"))) {
    // Other files in this folder contain keys and are not read.
    if (!/^\d+\.json$/.test(name)) continue;
    try {
      const entry = JSON.parse(readFileSync(join(root, "sessions", name), "utf8")) as {
        pid?: unknown;
        sessionId?: unknown;
      };
      const pid = typeof entry.pid === "number" ? entry.pid : Number(name.slice(0, -".json".length));
      if (typeof entry.sessionId === "string" && isRunning(pid)) live.set(entry.sessionId, pid);
    } catch {
      // The file was deleted or is being written, so its session is missing here. The migration also checks that the
      // transcript does not change.
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
    // EPERM means that a process of another user is running.
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
