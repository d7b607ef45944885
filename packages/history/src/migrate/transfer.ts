/**
 * Moves or copies one session. All files are staged beside the destination, flushed, read again, and then renamed into
 * place. The source is removed last. Before each step, the journal has the data to finish or undo the step. If the
 * process is killed, the source is complete, or the destination is complete and checked. Reasons:
 * docs/decisions/035-migrations-are-staged-and-journaled.md.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { copyChanged, hashOf } from "./copy-file.ts";
import {
  codeOf,
  exists,
  makeFolder,
  publish,
  removeEmptyFolders,
  removeFile,
  syncFolder,
} from "../disk/durable-files.ts";
import type { Journal, MovedFile } from "./journal.ts";
import { openSessions } from "../sources/claude-code/migrate/open-sessions.ts";
import type { PlannedFile, PlannedSession } from "../sources/claude-code/migrate/plan.ts";
import { MigrateRefusedError, type MigrateMode } from "./types.ts";

export interface Transferred {
  readonly files: readonly MovedFile[];
  readonly rewrittenPaths: number;
}

export function transferSession(plan: PlannedSession, mode: MigrateMode, journal: Journal): Transferred {
  refuseLive(plan);
  if (mode === "copy" && plan.files.some(({ from, to }) => from === to)) throw samePlace();
  const staging = stagingFolders(plan);
  const { sessionId, root, destinationRoot, source, destination } = plan;
  const move = { sessionId, root, destinationRoot, source, destination };
  journal.add({ step: "staging", sessionId, move, folders: [...staging.values()] });
  let staged: Transferred;
  try {
    staged = stageAll(plan, staging, journal);
    refuseLive(plan);
    refuseChanged(plan.files);
    journal.add({ step: "staged", sessionId, files: staged.files });
  } catch (error) {
    cleanStaging([...staging.values()], plan);
    journal.add({ step: "failed", sessionId });
    throw error;
  }
  try {
    publishAll(staged.files);
  } catch (error) {
    // A file that was rewritten in place cannot be restored here. The next migration finishes the session from the
    // journal.
    if (staged.files.some(({ from, to }) => from === to)) throw error;
    takeBack(staged.files);
    cleanStaging([...staging.values()], plan);
    journal.add({ step: "failed", sessionId });
    throw error;
  }
  journal.add({ step: "published", sessionId });
  cleanStaging([...staging.values()], plan);
  try {
    if (mode === "move") removeSources(plan.sessionId, staged.files);
  } catch (error) {
    if (error instanceof MigrateRefusedError) journal.add({ step: "failed", sessionId });
    throw error;
  }
  journal.add({ step: "done", sessionId });
  return staged;
}

export function samePlace(): MigrateRefusedError {
  const reason =
    "Claude Code keeps both project paths in the same folder, so the sessions can be moved but not copied.";
  return new MigrateRefusedError("same-place", reason);
}

function refuseLive({ root, destinationRoot, sessionId }: PlannedSession): void {
  const pid = openSessions(root).get(sessionId) ?? openSessions(destinationRoot).get(sessionId);
  if (pid === undefined) return;
  throw new MigrateRefusedError("live", `The session is open in Claude Code (process ${pid}). Close it first.`);
}

function refuseChanged(files: readonly PlannedFile[]): void {
  for (const { from, size, mtimeMs, inode } of files) {
    const now = lstatSync(from, { throwIfNoEntry: false });
    if (now?.size === size && now.mtimeMs === mtimeMs && now.ino === inode) continue;
    throw changedError(from);
  }
}

function changedError(path: string): MigrateRefusedError {
  return new MigrateRefusedError(
    "changed",
    `${path} changed during the migration: another process is writing to this session. Close it and try again.`,
  );
}

function hasSourceChanged({ from, sourceSize, sourceMtimeMs }: MovedFile): boolean {
  const now = lstatSync(from, { throwIfNoEntry: false });
  return now !== undefined && (now.size !== sourceSize || now.mtimeMs !== sourceMtimeMs);
}

function stagingFolders(plan: PlannedSession): ReadonlyMap<string, string> {
  const name = `.skein-${randomBytes(8).toString("hex")}`;
  return new Map(plan.files.map(({ toTop }) => [toTop, join(toTop, name)]));
}

function stageAll(plan: PlannedSession, staging: ReadonlyMap<string, string>, journal: Journal): Transferred {
  for (const [top, folder] of staging) {
    if (lstatSync(top, { throwIfNoEntry: false })?.isSymbolicLink()) {
      throw new MigrateRefusedError(
        "not-a-folder",
        `${top} is a symbolic link. A migration does not write through links.`,
      );
    }
    makeFolder(folder);
  }
  const files: MovedFile[] = [];
  let rewrittenPaths = 0;
  for (const [index, file] of plan.files.entries()) {
    const staged = join(staging.get(file.toTop) ?? file.toTop, String(index));
    const { moved, replacedCount } = stageOne(file, staged, journal);
    files.push(moved);
    rewrittenPaths += replacedCount;
  }
  for (const folder of staging.values()) syncFolder(folder);
  return { files, rewrittenPaths };
}

function stageOne(file: PlannedFile, staged: string, journal: Journal): { moved: MovedFile; replacedCount: number } {
  const { from, to, size, mtimeMs, link, keepsSource = false, fromTop, toTop } = file;
  const base = { from, to, staged, sourceSize: size, sourceMtimeMs: mtimeMs, link, keepsSource, fromTop, toTop };
  if (link !== null) {
    const wasPresent = isTaken(file, () => readlinkSync(to) === link);
    if (!wasPresent) symlinkSync(link, staged);
    return { moved: { ...base, sourceHash: "", hash: "", bytes: 0, wasPresent, replaced: null }, replacedCount: 0 };
  }
  const present = from === to || !exists(to) ? undefined : copyChanged(from, undefined, file.change);
  if (present) {
    isTaken(file, () => lstatSync(to).isFile() && hashOf(to) === present.hash);
    const { splices, replacedCount, ...hashes } = present;
    const replaced = replacedCount === 0 ? null : journal.keep(splices);
    return { moved: { ...base, ...hashes, wasPresent: true, replaced }, replacedCount };
  }
  const { splices, replacedCount, ...hashes } = copyChanged(from, staged, file.change);
  if (file.expectedHash !== undefined && file.expectedHash !== hashes.hash) {
    throw new MigrateRefusedError(
      "io",
      `${from} cannot be restored to ${to}: the result would differ from the original.`,
    );
  }
  if (hashOf(staged) !== hashes.hash)
    throw new MigrateRefusedError("io", `The content of ${staged} is not what the migration wrote.`);
  chmodSync(staged, file.mode);
  utimesSync(staged, mtimeMs / 1000, mtimeMs / 1000);
  const fd = openSync(staged, "r");
  fsyncSync(fd);
  closeSync(fd);
  const replaced = replacedCount === 0 ? null : journal.keep(splices);
  return { moved: { ...base, ...hashes, wasPresent: false, replaced }, replacedCount };
}

/** Whether the destination exists with the same content. Other content is an error. */
function isTaken({ from, to }: PlannedFile, isSame: () => boolean): boolean {
  if (from === to || !exists(to)) return false;
  if (isSame()) return true;
  throw new MigrateRefusedError("exists", `${to} exists already with other content. Nothing is overwritten.`);
}

/** Renames the staged files into place. May be called again after a crash: files that are in place stay. */
export function publishAll(files: readonly MovedFile[]): void {
  const folders = new Set<string>();
  for (const file of files) {
    const { from, to, staged, wasPresent } = file;
    if (wasPresent) continue;
    folders.add(dirname(to));
    if (!exists(staged)) {
      if (isInPlace(file)) continue;
      throw new MigrateRefusedError("io", `${to} does not exist, and its staged copy is missing.`);
    }
    makeFolder(dirname(to));
    if (from === to) {
      if (hasSourceChanged(file)) throw changedError(from);
      renameSync(staged, to);
    } else if (exists(to) && isInPlace(file)) removeFile(staged);
    else publishNew(file);
  }
  for (const folder of folders) syncFolder(folder);
}

function publishNew({ staged, to, link }: MovedFile): void {
  try {
    if (link === null) publish(staged, to);
    else {
      symlinkSync(link, to);
      removeFile(staged);
    }
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    throw new MigrateRefusedError(
      "exists",
      `${to} was created by another process during the migration. Nothing is overwritten.`,
    );
  }
}

export function isInPlace({ to, hash, link }: Pick<MovedFile, "to" | "hash" | "link">): boolean {
  const stat = lstatSync(to, { throwIfNoEntry: false });
  if (!stat) return false;
  return link === null ? stat.isFile() && hashOf(to) === hash : stat.isSymbolicLink() && readlinkSync(to) === link;
}

/** Removes the files of a session that are already at the destination, because the session cannot be migrated. */
function takeBack(files: readonly MovedFile[]): void {
  for (const file of files) {
    if (file.wasPresent || file.from === file.to || exists(file.staged) || !isInPlace(file)) continue;
    removeFile(file.to);
    removeEmptyFolders(dirname(file.to), file.toTop);
  }
}

/** Removes the source files. The main transcript is removed first, so that the session is not listed twice. */
export function removeSources(sessionId: string, files: readonly MovedFile[]): void {
  const moved = files.filter(({ from, to, keepsSource }) => from !== to && !keepsSource);
  const changed = moved.find(hasSourceChanged);
  if (changed) {
    takeBack(files);
    throw new MigrateRefusedError(
      "changed",
      `${changed.from} changed while session ${sessionId} was moved. The session stays where it was.`,
    );
  }
  for (const { from } of moved.toReversed()) removeFile(from);
  for (const { from, fromTop } of moved) removeEmptyFolders(dirname(from), fromTop);
  for (const top of new Set(moved.map(({ fromTop }) => fromTop))) {
    if (exists(top)) syncFolder(top);
    if (dirname(top).endsWith("projects")) removeEmptyFolders(top, dirname(top));
  }
}

function cleanStaging(
  folders: readonly string[],
  { files }: { readonly files: readonly { readonly to: string; readonly toTop: string }[] },
): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  for (const { to, toTop } of files) removeEmptyFolders(dirname(to), dirname(toTop));
}

export function removeStaging(folders: readonly string[]): void {
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
    removeEmptyFolders(dirname(folder), dirname(dirname(folder)));
  }
}
