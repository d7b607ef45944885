/** Copies a session from the archive back into a data directory of Claude Code. */
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { NotRestorableError, SessionNotFoundError } from "../errors.ts";
import { hashOf } from "../migrate/copy-file.ts";
import { codeOf, exists, makeFolder, publish, syncFolder } from "../disk/durable-files.ts";
import { archivedRoots, defaultArchiveFolder } from "./archive.ts";
import { archivedFiles } from "./archived-files.ts";
import { lastHead, readArchived } from "./archived-file.ts";
import { sourceOfRoot } from "../sources/mirror/source-of-root.ts";
import { agentTitles } from "../sources/port/source.ts";
import { createHash } from "node:crypto";

export interface RestoreOptions {
  readonly archiveFolder?: string;
  /** The data directory to restore into. Default: the directory from which the session was archived. */
  readonly root?: string;
}

export interface RestoreResult {
  readonly sessionId: string;
  readonly root: string;
  readonly restored: readonly string[];
  /** Files that exist already with the same content. */
  readonly present: readonly string[];
  /** Files that exist already with other content. They are not overwritten. */
  readonly conflicts: readonly string[];
}

/** Restores all archived files of a session. `id` may be the beginning of the session's id. */
export async function restoreSession(id: string, options: RestoreOptions = {}): Promise<RestoreResult> {
  const { folder, root, sessionId } = find(id, options.archiveFolder ?? defaultArchiveFolder());
  const source = sourceOfRoot(root);
  if (source !== "claude-code") throw new NotRestorableError(sessionId, agentTitles[source]);
  const target = options.root ?? root;
  const restored: string[] = [];
  const present: string[] = [];
  const conflicts: string[] = [];
  // The main transcript comes last, so that the session is listed only when it is complete.
  const files = filesOf(folder, sessionId).toSorted(
    (a, b) => Number(isMain(a, sessionId)) - Number(isMain(b, sessionId)),
  );
  const taken = files.filter((path) => exists(join(target, path)));
  for (const path of taken) (isSame(join(folder, path), join(target, path)) ? present : conflicts).push(path);
  if (conflicts.some((path) => isMain(path, sessionId)))
    return { sessionId, root: target, restored, present, conflicts };
  for (const path of files) {
    if (taken.includes(path)) continue;
    if (unpackNew(join(folder, path), join(target, path))) restored.push(path);
    else conflicts.push(path);
  }
  return await Promise.resolve({ sessionId, root: target, restored, present, conflicts });
}

function isMain(path: string, sessionId: string): boolean {
  return basename(path) === `${sessionId}.jsonl`;
}

function find(id: string, archiveFolder: string): { folder: string; root: string; sessionId: string } {
  const wanted = id.trim().toLowerCase();
  const found = archivedRoots(archiveFolder).flatMap(({ root, folder }) =>
    archivedFiles(folder, "projects").flatMap((path) => {
      const [, sessionId] = /^projects[\\/][^\\/]+[\\/]([^\\/]+)\.jsonl$/.exec(path) ?? [];
      return sessionId !== undefined && !sessionId.startsWith("agent-") && sessionId.toLowerCase().startsWith(wanted)
        ? [{ root, folder, sessionId }]
        : [];
    }),
  );
  const [first] = found;
  if (wanted === "" || !first) throw new SessionNotFoundError(id, "The archive has no such session");
  if (found.some(({ sessionId }) => sessionId !== first.sessionId)) {
    throw new SessionNotFoundError(
      id,
      `${new Set(found.map(({ sessionId }) => sessionId)).size} archived sessions begin with this id`,
    );
  }
  return first;
}

function filesOf(folder: string, sessionId: string): readonly string[] {
  const projects = archivedFiles(folder, "projects").filter((path) => {
    const [, , name = "", ...below] = path.split(/[\\/]/);
    if (below.length > 0) return name === sessionId;
    return (
      name === `${sessionId}.jsonl` || (/^agent-.*\.jsonl$/.test(name) && namesSession(join(folder, path), sessionId))
    );
  });
  return [
    ...projects,
    ...archivedFiles(folder, join("file-history", sessionId)),
    ...archivedFiles(folder, join("tasks", sessionId)),
    ...archivedFiles(folder, "todos").filter((path) => basename(path).startsWith(`${sessionId}-agent-`)),
  ];
}

/**
 * Whether the first lines contain the id of the session. In the old layout, the path of a subagent does not contain
 * this id.
 */
function namesSession(folder: string, sessionId: string): boolean {
  for (const bytes of readArchived(folder)) return bytes.subarray(0, 8192).includes(`"sessionId":"${sessionId}"`);
  return false;
}

function isSame(folder: string, path: string): boolean {
  const hash = createHash("sha256");
  for (const bytes of readArchived(folder)) hash.update(bytes);
  try {
    return hashOf(path) === hash.digest("hex");
  } catch {
    return false;
  }
}

/**
 * Creates a file with the current time, because Claude Code deletes old files. Returns false if the file exists
 * already.
 */
function unpackNew(folder: string, target: string): boolean {
  makeFolder(dirname(target));
  const staged = join(dirname(target), `.skein-${randomBytes(6).toString("hex")}`);
  try {
    const fd = openSync(staged, "wx", lastHead(folder)?.mode ?? 0o600);
    try {
      for (const bytes of readArchived(folder))
        for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    publish(staged, target);
    syncFolder(dirname(target));
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(staged, { force: true });
  }
}
