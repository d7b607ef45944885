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
 * Removes the files that a child process leaves on the disk. The log has their content, so only copies are removed.
 *
 * A resumed session gets a folder from the SDK, which the SDK does not remove when the process is killed.
 */

const RESUMED = "claude-resume-";
const OWNER = ".skein-owner";
const OWNER_BYTES = 1000;

/** Marks the owner of a folder, so that folders of running servers are recognised. */
export function markFolder(configDir: string): void {
  if (isResumed(configDir)) writeWithoutLinks(configDir, [OWNER], thisOwner());
}

/**
 * Removes every file of a session: its transcript, its images, its tasks, its copies of files, and other files that
 * Claude Code names after it. The folders differ between versions of Claude Code, so all of them are searched.
 */
export function removeSessionFiles(configDir: string, sessionId: string): void {
  if (isResumed(configDir)) return remove(configDir);
  for (const path of namedIn(configDir, (name) => name.includes(sessionId))) removeWithoutLinks(configDir, path);
}

/** The sessions whose files were left behind by a killed server: nothing in their folder has changed for an hour. */
export function abandonedSessions(configDir: string, now: number): readonly string[] {
  const found = namedIn(configDir, (name) => UUID.test(name)).filter(
    (path) => now - changedAt(join(configDir, ...path)) > ABANDONED_MS,
  );
  return [...new Set(found.map((path) => UUID.exec(path.at(-1) ?? "")?.[0] ?? ""))];
}

/**
 * How deep the named files are: transcripts are `projects/PROJECT/SESSION.jsonl`; output of tools is in
 * `tmp/claude-UID/PROJECT/SESSION`.
 */
const DEPTH = 4;
const ABANDONED_MS = 3600 * 1000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** A program can make millions of files. Files above this number are removed with the folder of their session. */
const MOST_NAMES = 20_000;

/** The paths whose last name matches. Links are not followed, and folders that match are not searched further. */
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
    // A process still writes to the folder. The next sweep removes the rest.
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
