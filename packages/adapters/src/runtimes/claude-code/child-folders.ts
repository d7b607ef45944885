import { type Dirent, existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { isDeadOwner, thisOwner } from "../../engines/owner.ts";

/**
 * What a child leaves on the disk. The log has all of it: the rest is only a copy that would outlive its session.
 *
 * A session that is resumed gets a folder from the SDK, of which it takes no care when a process is killed.
 */

const RESUMED = "claude-resume-";
const OWNER = ".skein-owner";

/** Says whose folder this is, so that it can be told from those of servers that live. */
export function markFolder(configDir: string): void {
  if (isResumed(configDir)) writeFileSync(join(configDir, OWNER), thisOwner());
}

/**
 * Removes every file of a session: its transcript, its images, its tasks, its copies of files, and whatever else Claude
 * Code names after it. Which folders there are changes from version to version, so all of them are looked through.
 */
export function removeSessionFiles(configDir: string, sessionId: string): void {
  if (isResumed(configDir)) return remove(configDir);
  removeNamed(configDir, sessionId, DEPTH);
}

/** Transcripts are the deepest: `projects/PROJECT/SESSION.jsonl`; what tools wrote is in `tmp/claude-UID/PROJECT/SESSION`. */
const DEPTH = 4;

function removeNamed(folder: string, sessionId: string, depth: number): void {
  for (const entry of entriesIn(folder)) {
    const path = join(folder, entry.name);
    if (entry.name.includes(sessionId)) remove(path);
    // A link is not followed: what it leads to is not ours.
    else if (depth > 1 && entry.isDirectory()) removeNamed(path, sessionId, depth - 1);
  }
}

/** The sessions that have files in a folder which nobody changed for an hour: a killed server has left them. */
export function abandonedSessions(configDir: string, now: number): readonly string[] {
  const found = new Set<string>();
  const look = (folder: string, depth: number): void => {
    for (const entry of entriesIn(folder)) {
      const path = join(folder, entry.name);
      const [id] = UUID.exec(entry.name) ?? [];
      if (id !== undefined && now - changedAt(path) > ABANDONED_MS) found.add(id);
      else if (id === undefined && depth > 1 && entry.isDirectory()) look(path, depth - 1);
    }
  };
  look(configDir, DEPTH);
  return [...found];
}

const ABANDONED_MS = 3600 * 1000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

function changedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
}

function entriesIn(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Removes what servers that were killed have left. */
export function sweepFolders(): void {
  for (const name of namesIn(tmpdir())) {
    const folder = join(tmpdir(), name);
    const mark = join(folder, OWNER);
    if (isResumed(folder) && existsSync(mark) && isDeadOwner(readFileSync(mark, "utf8"))) remove(folder);
  }
}

function isResumed(configDir: string): boolean {
  return dirname(configDir) === tmpdir() && basename(configDir).startsWith(RESUMED);
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // A last line is being written: what is left is removed by the next sweep.
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
