import { lstatSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { isDeadOwner, thisOwner } from "../../engines/owner.ts";
import {
  namesWithoutLinks,
  readWithoutLinks,
  removeWithoutLinks,
  writeWithoutLinks,
} from "../../sandboxes/without-links.ts";

/**
 * Removes the files that a child process leaves on the disk. They are only copies, because the log has their content.
 *
 * The SDK makes a folder for a resumed session. If the process is killed, the SDK does not remove this folder.
 */

const RESUMED = "claude-resume-";
const OWNER = ".skein-owner";
const OWNER_BYTES = 1000;

/** Writes the owner into a folder of a resumed session, so that the sweep keeps folders of running servers. */
export function markFolder(configDir: string): void {
  if (isResumed(configDir)) writeWithoutLinks(configDir, [OWNER], thisOwner());
}

/**
 * Removes every file of a session, such as transcripts, images, tasks and copies. Searches all folders for the
 * session's id, because the folders differ between versions of Claude Code.
 */
export function removeSessionFiles(configDir: string, sessionId: string): void {
  if (isResumed(configDir)) return remove(configDir);
  for (const path of namedIn(configDir, (name) => name.includes(sessionId))) removeWithoutLinks(configDir, path);
}

/**
 * Returns the ids of sessions with files that have not changed for an hour. If such a session was deleted, a killed
 * server left these files.
 */
export function abandonedSessions(configDir: string, now: number): readonly string[] {
  const found = namedIn(configDir, (name) => UUID.test(name)).filter(
    (path) => now - changedAt(join(configDir, ...path)) > ABANDONED_MS,
  );
  return [...new Set(found.map((path) => UUID.exec(path.at(-1) ?? "")?.[0] ?? ""))];
}

/**
 * The depth of the search. Transcripts are `projects/PROJECT/SESSION.jsonl`. Output of tools is in
 * `tmp/claude-UID/PROJECT/SESSION`.
 */
const DEPTH = 4;
const ABANDONED_MS = 3600 * 1000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/**
 * The search ends after this number of files, because a program can make millions. Further files are removed with the
 * folder of their session.
 */
const MOST_NAMES = 20_000;

/** Returns the paths with a matching last name. Does not follow links, and does not search matching folders. */
function namedIn(
  root: string,
  isMeant: (name: string) => boolean,
  folder: readonly string[] = [],
  budget = { names: MOST_NAMES },
): readonly string[][] {
  return namesWithoutLinks(root, folder, budget.names).flatMap((name) => {
    if (--budget.names < 0) return [];
    const path = [...folder, name];
    if (isMeant(name)) return [path];
    return path.length < DEPTH ? namedIn(root, isMeant, path, budget) : [];
  });
}

function changedAt(path: string): number {
  return lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
}

/** Removes leftovers of killed servers. */
export function sweepFolders(): void {
  for (const name of namesIn(tmpdir())) {
    const folder = join(tmpdir(), name);
    const mark = isResumed(folder) ? readWithoutLinks(folder, [OWNER], OWNER_BYTES) : undefined;
    if (mark && isDeadOwner(new TextDecoder().decode(mark))) remove(folder);
  }
}

function isResumed(configDir: string): boolean {
  return dirname(configDir) === tmpdir() && basename(configDir).startsWith(RESUMED);
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // This happens if a process still writes to the folder. The next sweep removes the rest.
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
