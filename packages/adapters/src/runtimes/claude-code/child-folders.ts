import { readdirSync, rmSync } from "node:fs";
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
 * What a child leaves on the disk. The log has all of it: the rest is only a copy that would outlive its session.
 *
 * A session that is resumed gets a folder from the SDK, of which it takes no care when a process is killed.
 */

const RESUMED = "claude-resume-";
const OWNER = ".skein-owner";
const OWNER_BYTES = 1000;

/** Says whose folder this is, so that it can be told from those of servers that live. */
export function markFolder(configDir: string): void {
  if (isResumed(configDir)) writeWithoutLinks(configDir, [OWNER], thisOwner());
}

export function removeSessionFiles(configDir: string, sessionId: string): void {
  if (isResumed(configDir)) return remove(configDir);
  for (const project of namesWithoutLinks(configDir, ["projects"])) {
    removeWithoutLinks(configDir, ["projects", project, `${sessionId}.jsonl`]);
    removeWithoutLinks(configDir, ["projects", project, sessionId]);
  }
  removeWithoutLinks(configDir, ["file-history", sessionId]);
}

/** Removes what servers that were killed have left. */
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
