/** Copies or moves sessions to another project path. Nothing is removed before its copy has been checked. */
import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { LibraryConfig } from "../config.ts";
import type { DataFile } from "../model/data-file.ts";
import { existingRoots } from "../sources/discover.ts";
import { encodeProjectPath } from "../sources/claude-code/discover/encode-project-path.ts";
import { DataNotFoundError, isWorkspaceNotFoundError, WorkspaceNotFoundError } from "../errors.ts";
import { findSession } from "../get/get-session.ts";
import { agentsBySession } from "../sources/claude-code/agents/agent-files.ts";
import { projectPathOf } from "../sources/claude-code/details/project-path.ts";
import { withStore } from "../facets/with-store.ts";
import { orderSessions, readDetails, type SessionOrder } from "../list/sessions.ts";
import { readLines } from "../scan/read-lines.ts";
import { copyChanged, hashOf } from "./copy-file.ts";
import { codeOf, exists } from "../disk/durable-files.ts";
import { openJournal, readJournal } from "./journal.ts";
import { openSessions } from "../sources/claude-code/migrate/open-sessions.ts";
import { withLock } from "../disk/lock.ts";
import { lengthInside, withoutTrailingSeparator } from "./path-mapping.ts";
import { planMemory, planSession, type PlannedSession } from "../sources/claude-code/migrate/plan.ts";
import { applyIndexing, foldJournal, isUnfinished, recoverMigrations } from "./recover.ts";
import { sharedEdits } from "../sources/claude-code/migrate/shared-edits.ts";
import { samePlace, transferSession } from "./transfer.ts";
import {
  MigrateRefusedError,
  type MigrateConfig,
  type MigrateError,
  type MigrateErrorCode,
  type MigrateMode,
  type MigrateOptions,
  type MigrateResult,
  type MigratedSession,
  type MigrateWorkspaceConfig,
  type SessionMove,
} from "./types.ts";

/** Copies or moves sessions, with everything that belongs to them, to another project path. */
export async function migrateSession(
  config: MigrateConfig,
  library: LibraryConfig & MigrateOptions = {},
): Promise<MigrateResult> {
  const wanted = typeof config.sessions === "object" ? config.sessions : [config.sessions];
  return await run(
    library,
    { destination: config.destination, mode: config.mode ?? "copy", source: "", isWholeWorkspace: false },
    async () => {
      return await withStore(library, async (store) => {
        const found: Found = { places: [], missing: [] };
        for (const idOrIndex of wanted) {
          try {
            const { file, order } = await findSession(idOrIndex, library, store);
            await readDetails([file], order.details, library, store);
            if (!found.places.some((place) => place.file.path === file.path)) found.places.push(placeOf(file, order));
          } catch (error) {
            if (!(error instanceof Error) || error.name !== "SessionNotFoundError") throw error;
            found.missing.push({ sessionId: String(idOrIndex), code: "unknown-session", message: error.message });
          }
        }
        return found;
      });
    },
  );
}

/** Copies or moves every session of a project path, its memory and its settings to another project path. */
export async function migrateWorkspace(
  config: MigrateWorkspaceConfig,
  library: LibraryConfig & MigrateOptions = {},
): Promise<MigrateResult> {
  const { source, destination, mode = "copy" } = config;
  refusePlaces(source, destination);
  return await run(library, { destination, mode, source, isWholeWorkspace: true }, async () => {
    return { places: [...(await sessionsOf(source, library))], missing: [] };
  });
}

interface FoundPlace {
  readonly file: DataFile;
  readonly agents: readonly DataFile[];
  readonly source: string;
}

interface Found {
  readonly places: FoundPlace[];
  readonly missing: MigrateError[];
}

interface Task {
  readonly source: string;
  readonly destination: string;
  readonly mode: MigrateMode;
  readonly isWholeWorkspace: boolean;
}

function placeOf(file: DataFile, order: SessionOrder): FoundPlace {
  const details = order.details.get(file);
  const project = details ? projectPathOf(details, file.encodedPath) : undefined;
  // If no line has a working directory, there is no path to rewrite.
  const source = project && project.projectPathSource !== "folder" ? project.projectPath : "";
  return {
    file,
    agents: agentsBySession(order.discovered.files, [file]).get(file) ?? [],
    source: withoutTrailingSeparator(source),
  };
}

export function defaultJournalFolder(): string {
  return join(homedir(), ".skein", "migrations");
}

const patienceMs = 5000;

async function run(
  library: LibraryConfig & MigrateOptions,
  task: Task,
  find: () => Promise<Found>,
): Promise<MigrateResult> {
  const journals = library.journalFolder ?? defaultJournalFolder();
  if (library.dryRun) return await execute(library, task, await find(), { journals, finishedBefore: 0 });
  const done = await withLock(journals, patienceMs, async () => {
    const finishedBefore = recoverMigrations(journals);
    return await execute(library, task, await find(), { journals, finishedBefore });
  });
  if (done) return done.value;
  throw new MigrateRefusedError("busy", "Another migration is running. Try again when it has ended.");
}

/** Finds the sessions of a project. A project without sessions is not an error, because it may have a memory. */
async function sessionsOf(source: string, library: LibraryConfig): Promise<readonly FoundPlace[]> {
  return await withStore(library, async (store) => {
    try {
      const order = await orderSessions({ ...library, workspace: source }, store);
      return order.files.map((file) => placeOf(file, order));
    } catch (error) {
      if (isWorkspaceNotFoundError(error)) return [];
      throw error;
    }
  });
}

interface Run {
  readonly journals: string;
  readonly finishedBefore: number;
}

async function execute(
  library: LibraryConfig & MigrateOptions,
  task: Task,
  found: Found,
  { journals, finishedBefore }: Run,
): Promise<MigrateResult> {
  const destination = withoutTrailingSeparator(task.destination);
  const errors: MigrateError[] = [...found.missing];
  const sessions: MigratedSession[] = [];
  const notes: string[] = [];
  const plans: PlannedSession[] = [];
  for (const place of found.places) {
    try {
      refusePlaces(place.source, destination);
      plans.push(planOf(place, destination, library));
    } catch (error) {
      errors.push(errorOf(place.file.sessionId ?? "", error));
    }
  }
  const memories = task.isWholeWorkspace ? memoryPlans(plans, { ...task, destination }, library) : [];
  for (const { others } of plans) notes.push(...others.map((path) => `${path} is not a file and stays where it is.`));
  const id = `${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${randomBytes(3).toString("hex")}`;
  const journal = library.dryRun || plans.length + memories.length === 0 ? undefined : openJournal(journals, id);
  journal?.add({
    step: "begin",
    kind: "migrate",
    isWholeWorkspace: task.isWholeWorkspace,
    mode: task.mode,
    source: task.source,
    destination,
    at: new Date().toISOString(),
  });
  const done: PlannedSession[] = [];
  for (const [at, plan] of [...memories, ...plans].entries()) {
    library.signal?.throwIfAborted();
    try {
      const outcome = journal ? transferSession(plan, task.mode, journal) : rehearse(plan, task.mode);
      done.push(plan);
      const from = plan.source === "" ? dirname(plan.files.at(-1)?.from ?? "") : plan.source;
      const bytes = outcome.files.reduce((sum, file) => sum + file.bytes, 0);
      if (plan.sessionId !== "memory")
        sessions.push({
          sessionId: plan.sessionId,
          from,
          to: destination,
          files: outcome.files.length,
          bytes,
          rewrittenPaths: outcome.rewrittenPaths,
        });
      else notes.push(`The project's memory is included (${outcome.files.length} files).`);
    } catch (error) {
      errors.push(errorOf(plan.sessionId, error));
    }
    library.onProgress?.(at + 1, plans.length + memories.length);
    await Promise.resolve();
  }
  // A session may have been moved without being in `done`, so the list comes from the journal.
  const shared = sharedEdits(journal ? movesDone(journals, id) : done, task);
  notes.push(...shared.notes);
  if (journal) {
    journal.add({ step: "indexing", lines: shared.lines, keys: shared.keys });
    applyIndexing({ step: "indexing", lines: shared.lines, keys: shared.keys }, "migrate");
    // Without the step `end`, the next migration finishes the sessions that are partly migrated.
    if (!foldJournal(readJournal(journals, id)).units.some(isUnfinished)) journal.add({ step: "end" });
  }
  const successCount = sessions.length;
  if (task.isWholeWorkspace && found.places.length + memories.length + finishedBefore === 0) {
    throw new WorkspaceNotFoundError(task.source);
  }
  return {
    successCount,
    failedCount: errors.length,
    errors,
    sessions,
    notes,
    migrationId: journal && successCount > 0 ? id : null,
    finishedBefore,
  };
}

function movesDone(journals: string, id: string): readonly SessionMove[] {
  const { units } = foldJournal(readJournal(journals, id));
  return units.flatMap(({ step, move }) => (step === "done" && move ? [move] : []));
}

function planOf(place: FoundPlace, destination: string, library: LibraryConfig & MigrateOptions): PlannedSession {
  const destinationRoot = library.destinationRoot === undefined ? place.file.root : realRoot(library.destinationRoot);
  const slugs = destinationRoot === place.file.root ? [] : slugsIn(place.file.path);
  const plan = planSession({ ...place, slugs, destination, destinationRoot });
  if (plan.files.at(-1)?.from === plan.files.at(-1)?.to && place.source === "") {
    throw new MigrateRefusedError("same-place", "The session is in this project already.");
  }
  return plan;
}

function realRoot(path: string): string {
  if (!exists(path)) throw new DataNotFoundError(path);
  return realpathSync(path);
}

function slugsIn(path: string): readonly string[] {
  const slugs = new Set<string>();
  readLines(path, {
    line: ({ value }) => {
      if (typeof value["slug"] === "string") slugs.add(value["slug"]);
    },
    damage: () => {},
  });
  return [...slugs];
}

/**
 * Plans to migrate the project's memory, even if no session is left: an interrupted move may have moved all sessions.
 */
function memoryPlans(
  plans: readonly PlannedSession[],
  { source, destination }: Task,
  library: LibraryConfig & MigrateOptions,
): readonly PlannedSession[] {
  const folders = new Map(plans.map(({ files, root }) => [dirname(files.at(-1)?.from ?? ""), root]));
  for (const root of existingRoots(library)) folders.set(join(root, "projects", encodeProjectPath(source)), root);
  return [...folders].flatMap(([fromFolder, root]) => {
    const destinationRoot = library.destinationRoot === undefined ? root : realRoot(library.destinationRoot);
    return planMemory({ fromFolder, root, destinationRoot, source, destination }) ?? [];
  });
}

/** Checks a session like a migration, but writes nothing. */
function rehearse(
  plan: PlannedSession,
  mode: MigrateMode,
): { files: readonly { bytes: number }[]; rewrittenPaths: number } {
  const pid = openSessions(plan.root).get(plan.sessionId);
  if (pid !== undefined)
    throw new MigrateRefusedError("live", `The session is open in Claude Code (process ${pid}). Close it first.`);
  let rewrittenPaths = 0;
  const files = plan.files.map((file) => {
    if (file.link !== null) return { bytes: 0 };
    const { hash, bytes, replacedCount } = copyChanged(file.from, undefined, file.change);
    rewrittenPaths += replacedCount;
    if (file.from === file.to && mode === "copy") throw samePlace();
    if (file.from !== file.to && exists(file.to) && hashOf(file.to) !== hash) {
      throw new MigrateRefusedError("exists", `${file.to} exists already with other content. Nothing is overwritten.`);
    }
    return { bytes };
  });
  return { files, rewrittenPaths };
}

/**
 * Throws if the destination is the source or is inside it. If it is inside, a second migration would move it once more.
 */
function refusePlaces(source: string, destination: string): void {
  const to = withoutTrailingSeparator(destination);
  if (to === "") throw new MigrateRefusedError("same-place", "The destination is empty.");
  if (source === "") return;
  const from = withoutTrailingSeparator(source);
  const length = lengthInside(to, from);
  if (length === undefined) return;
  if (to.length === length)
    throw new MigrateRefusedError("same-place", `Source and destination are the same path: ${from}`);
  throw new MigrateRefusedError("inside-source", `The destination ${to} is inside the source ${from}.`);
}

export function errorOf(sessionId: string, error: unknown): MigrateError {
  if (error instanceof MigrateRefusedError) return { sessionId, code: error.code, message: error.message };
  const code = codeOf(error);
  if (code === undefined || !(error instanceof Error)) throw error;
  const kind: MigrateErrorCode = code === "ENOSPC" || code === "EDQUOT" ? "no-space" : "io";
  return { sessionId, code: kind, message: error.message };
}
