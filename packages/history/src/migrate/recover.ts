/** Finishes interrupted migrations from their journals. */
import { type Journal, type JournalEntry, type MovedFile, journalIds, openJournal, readJournal } from "./journal.ts";
import { sharedEdits } from "../sources/claude-code/migrate/shared-edits.ts";
import { applyKeyEdit, applyLineEdits, undoKeyEdit } from "../sources/claude-code/migrate/shared-files.ts";
import { isInPlace, publishAll, removeSources, removeStaging } from "./transfer.ts";
import { MigrateRefusedError, type MigrateMode, type SessionMove } from "./types.ts";

/** The state of one session in a migration, computed from the journal. */
export interface UnitState {
  readonly sessionId: string;
  readonly step: "staging" | "staged" | "published" | "done" | "failed";
  readonly move: SessionMove | undefined;
  readonly folders: readonly string[];
  readonly files: readonly MovedFile[];
}

type Indexing = Extract<JournalEntry, { step: "indexing" }>;

export interface MigrationState {
  readonly begin: Extract<JournalEntry, { step: "begin" }> | undefined;
  readonly units: readonly UnitState[];
  readonly indexing: readonly Indexing[];
  readonly hasEnded: boolean;
  readonly undoneBy: string | undefined;
}

export function foldJournal(entries: readonly JournalEntry[]): MigrationState {
  const units = new Map<string, UnitState>();
  let begin: MigrationState["begin"];
  const indexing: Indexing[] = [];
  let hasEnded = false;
  let undoneBy: string | undefined;
  for (const entry of entries) {
    switch (entry.step) {
      case "begin":
        begin = entry;
        break;
      case "staging": {
        const { sessionId, move, folders } = entry;
        units.set(sessionId, { sessionId, step: "staging", move, folders, files: [] });
        break;
      }
      case "staged": {
        const known = units.get(entry.sessionId);
        if (known) units.set(entry.sessionId, { ...known, step: "staged", files: entry.files });
        break;
      }
      case "published":
      case "done":
      case "failed": {
        const known = units.get(entry.sessionId);
        if (known) units.set(entry.sessionId, { ...known, step: entry.step });
        break;
      }
      case "indexing":
        indexing.push(entry);
        break;
      case "end":
        hasEnded = true;
        break;
      case "undone":
        undoneBy = entry.by;
        break;
    }
  }
  return { begin, units: [...units.values()], indexing, hasEnded, undoneBy };
}

/** Finishes interrupted migrations and returns how many sessions were finished. */
export function recoverMigrations(journals: string): number {
  let finished = 0;
  for (const id of journalIds(journals)) {
    const state = foldJournal(readJournal(journals, id));
    if (state.hasEnded) continue;
    const { begin } = state;
    const journal = openJournal(journals, id);
    const recovered: SessionMove[] = [];
    for (const unit of state.units) {
      if (!recoverUnit(unit, begin?.mode ?? "copy", journal)) continue;
      finished += 1;
      if (unit.move) recovered.push(unit.move);
    }
    // An interrupted undo continues when undo is requested again.
    if (begin?.kind === "migrate") finishShared(state, journal, recovered);
    journal.add({ step: "end" });
  }
  return finished;
}

/** Applies the journal's edits of shared files, and the edits for recovered sessions. */
function finishShared(
  { begin, indexing, units }: MigrationState,
  journal: Journal,
  recovered: readonly SessionMove[],
): void {
  for (const entry of indexing) applyIndexing(entry, "migrate");
  const done = units.flatMap(({ step, move }) => (step === "done" && move && indexing.length === 0 ? [move] : []));
  const task = { mode: begin?.mode ?? "copy", isWholeWorkspace: begin?.isWholeWorkspace === true };
  const { lines, keys } = sharedEdits([...done, ...recovered], task);
  if (lines.length + keys.length === 0) return;
  const entry = { step: "indexing" as const, lines, keys };
  journal.add(entry);
  applyIndexing(entry, "migrate");
}

/** Whether the session is partly migrated and can be finished later. */
export function isUnfinished({ step }: UnitState): boolean {
  return step === "staged" || step === "published";
}

function recoverUnit({ sessionId, step, folders, files }: UnitState, mode: MigrateMode, journal: Journal): boolean {
  if (step === "done" || step === "failed") return false;
  try {
    if (step === "staging") {
      removeStaging(folders);
      journal.add({ step: "failed", sessionId });
      return false;
    }
    if (step === "staged") {
      publishAll(files);
      journal.add({ step: "published", sessionId });
    }
    removeStaging(folders);
    const missing = files.find((file) => !isInPlace(file));
    if (missing) throw new MigrateRefusedError("io", `The content of ${missing.to} is not what the migration wrote.`);
    if (mode === "move") removeSources(sessionId, files);
    journal.add({ step: "done", sessionId });
    return true;
  } catch (error) {
    if (!(error instanceof MigrateRefusedError)) throw error;
    // The source or the destination has changed since the interruption. Both stay as they are.
    removeStaging(folders);
    journal.add({ step: "failed", sessionId });
    return false;
  }
}

export function applyIndexing(
  { lines, keys }: Extract<JournalEntry, { step: "indexing" }>,
  kind: "migrate" | "undo",
): void {
  for (const edits of lines) applyLineEdits(edits);
  for (const edit of keys) {
    if (kind === "migrate") applyKeyEdit(edit);
    else undoKeyEdit(edit);
  }
}
