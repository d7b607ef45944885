import { randomBytes } from "node:crypto";
import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { exists, removeEmptyFolders, removeFile } from "../disk/durable-files.ts";
import { type Journal, type MovedFile, journalIds, openJournal, readJournal, readReplaced } from "./journal.ts";
import { openSessions } from "../sources/claude-code/migrate/open-sessions.ts";
import { withLock } from "../disk/lock.ts";
import { defaultJournalFolder, errorOf } from "./migrate.ts";
import type { PlannedFile } from "../sources/claude-code/migrate/plan.ts";
import { applyIndexing, foldJournal, recoverMigrations, type MigrationState, type UnitState } from "./recover.ts";
import { undoLineEdits } from "../sources/claude-code/migrate/shared-files.ts";
import { isInPlace, transferSession } from "./transfer.ts";
import { MigrateRefusedError, type MigrateError, type MigrateMode } from "./types.ts";

export interface UndoOptions {
  readonly journalFolder?: string;
}

export interface UndoResult {
  readonly migrationId: string;
  readonly successCount: number;
  readonly failedCount: number;
  readonly errors: readonly MigrateError[];
}

export interface MigrationSummary {
  readonly id: string;
  readonly kind: "migrate" | "undo";
  readonly mode: MigrateMode;
  readonly destination: string;
  readonly at: string;
  readonly sessions: number;
  readonly isUndone: boolean;
  readonly isInterrupted: boolean;
}

/** Lists every migration that has a journal, newest first. */
export function listMigrations({
  journalFolder = defaultJournalFolder(),
}: UndoOptions = {}): readonly MigrationSummary[] {
  return journalIds(journalFolder).flatMap((id) => {
    const { begin, units, hasEnded, undoneBy } = foldJournal(readJournal(journalFolder, id));
    if (!begin) return [];
    const sessions = units.filter(({ step, sessionId }) => step === "done" && sessionId !== "memory").length;
    const { kind, mode, destination, at } = begin;
    return { id, kind, mode, destination, at, sessions, isUndone: undoneBy !== undefined, isInterrupted: !hasEnded };
  });
}

const patienceMs = 5000;

/**
 * Undoes a migration. Without an id, undoes the last migration. Copies are removed, and moved files are restored byte
 * for byte. Files that were at the destination before the migration stay there. If a file has changed since the
 * migration, it stays in place, and its session is reported as an error.
 */
export async function undoMigration(id: string | undefined, options: UndoOptions = {}): Promise<UndoResult> {
  const journals = options.journalFolder ?? defaultJournalFolder();
  const done = await withLock(journals, patienceMs, async () => {
    recoverMigrations(journals);
    return await Promise.resolve(undo(journals, chosen(journals, id)));
  });
  if (done) return done.value;
  throw new MigrateRefusedError("busy", "Another migration is running. Try again when it has ended.");
}

function chosen(journals: string, id: string | undefined): string {
  const all = listMigrations({ journalFolder: journals }).filter(
    ({ kind, isUndone, sessions }) => kind === "migrate" && !isUndone && sessions > 0,
  );
  const found = id === undefined ? all[0] : all.find((migration) => migration.id === id);
  if (found) return found.id;
  throw new MigrateRefusedError(
    "unknown-migration",
    id === undefined ? "There is no migration to undo." : `There is no migration ${id} that can be undone.`,
  );
}

function undo(journals: string, id: string): UndoResult {
  const state = foldJournal(readJournal(journals, id));
  const mode = state.begin?.mode ?? "copy";
  const undoId = `${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${randomBytes(3).toString("hex")}`;
  const journal = openJournal(journals, undoId);
  const { source = "", destination = "" } = state.begin ?? {};
  journal.add({
    step: "begin",
    kind: "undo",
    mode: "move",
    source: destination,
    destination: source,
    at: new Date().toISOString(),
    undoes: id,
  });
  const errors: MigrateError[] = [];
  let successCount = 0;
  for (const unit of state.units.toReversed()) {
    if (unit.step !== "done") continue;
    try {
      if (mode === "copy") removeCopy(unit);
      else moveBack(unit, { journals, id, journal });
      if (unit.sessionId !== "memory") successCount += 1;
    } catch (error) {
      errors.push(errorOf(unit.sessionId, error));
    }
  }
  if (errors.length === 0) undoShared(state, journal);
  if (errors.length === 0) openJournal(journals, id).add({ step: "undone", by: undoId });
  journal.add({ step: "end" });
  return { migrationId: id, successCount, failedCount: errors.length, errors };
}

function undoShared({ indexing }: MigrationState, journal: Journal): void {
  for (const { lines, keys } of indexing.toReversed()) {
    const entry = { step: "indexing" as const, lines: lines.map(undoLineEdits), keys };
    journal.add(entry);
    applyIndexing(entry, "undo");
  }
}

function removeCopy({ sessionId, files }: UnitState): void {
  const made = files.filter(({ wasPresent }) => !wasPresent);
  refuseChanged(made.filter(({ to }) => exists(to)));
  refuseLive(sessionId, made);
  for (const { to } of made.toReversed()) removeFile(to);
  for (const { to, toTop } of made) removeEmptyFolders(dirname(to), dirname(toTop));
}

/** Moves a session back. The replaced bytes are restored, and the old hashes are checked. */
function moveBack(
  { sessionId, files }: UnitState,
  { journals, id, journal }: { journals: string; id: string; journal: Journal },
): void {
  // An interrupted undo has already moved this session back.
  if (files.every(isBack)) return;
  refuseChanged(files);
  const planned = files.map((file): PlannedFile => {
    const { size, mtimeMs, ino, mode } = lstatSync(file.to);
    const change =
      file.replaced === null
        ? { kind: "none" as const }
        : { kind: "back" as const, splices: readReplaced(journals, id, file.replaced) };
    return {
      from: file.to,
      to: file.from,
      change,
      size,
      mtimeMs,
      inode: ino,
      mode: mode & 0o777,
      link: file.link,
      fromTop: file.toTop,
      toTop: file.fromTop,
      expectedHash: file.sourceHash,
      keepsSource: file.wasPresent,
    };
  });
  const [root, destinationRoot] = [rootOf(files[0]?.toTop ?? ""), rootOf(files[0]?.fromTop ?? "")];
  transferSession(
    { sessionId, root, destinationRoot, source: "", destination: "", files: planned, others: [] },
    "move",
    journal,
  );
}

function isBack({ from, to, wasPresent, sourceHash, link }: MovedFile): boolean {
  return (from === to || wasPresent || !exists(to)) && isInPlace({ to: from, hash: sourceHash, link });
}

function refuseChanged(files: readonly MovedFile[]): void {
  const changed = files.find((file) => !isInPlace(file));
  if (!changed) return;
  throw new MigrateRefusedError(
    "changed",
    `${changed.to} has changed since the migration. If the session was continued there, migrate it back instead.`,
  );
}

function refuseLive(sessionId: string, files: readonly MovedFile[]): void {
  const pid = openSessions(rootOf(files[0]?.toTop ?? "")).get(sessionId);
  if (pid !== undefined)
    throw new MigrateRefusedError("live", `The session is open in Claude Code (process ${pid}). Close it first.`);
}

/**
 * Returns the data directory of a folder. Project folders are in its folder `projects`, and all other folders are
 * directly in the data directory.
 */
function rootOf(top: string): string {
  const parent = dirname(top);
  return /[\\/]projects$/.test(parent) ? dirname(parent) : parent;
}
