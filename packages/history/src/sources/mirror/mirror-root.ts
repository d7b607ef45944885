/**
 * Keeps the sessions of another coding agent in Skein's cache folder, as transcripts in Claude Code's format. The lines
 * of a session are created when they are first read, or all at once. Only changed sessions are translated again. The
 * cache folder can be deleted at any time. Skein writes nothing into the folders of the agent. Reasons: decision 210 in
 * docs/decisions.
 */
import { sep } from "node:path";
import { withLock } from "../../disk/lock.ts";
import type { DataFile } from "../../model/data-file.ts";
import { createPause } from "../../scan/pause.ts";
import type { FileUsage } from "../claude-code/usage/file-usage.ts";
import type { Found, Problem, Unit } from "../port/source.ts";
import { holdingDatabases, keepDatabases } from "../port/sqlite.ts";
import { readUsage } from "../port/usage-writer.ts";
import {
  claimsOf,
  isBehind,
  isCurrent,
  messageOf,
  nextState,
  placeOf,
  unitsOf,
  type Belongs,
  type MirrorPlace,
} from "./find-sessions.ts";
import { makeLines } from "./make-lines.ts";
import { markOf } from "./source-of-root.ts";
import { loadState, saveMark, saveState, type MirroredUnit, type MirrorState } from "./mirror-state.ts";

interface TranslateOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface Mirror {
  readonly folder: string;
  readonly problems: readonly Problem[];
  /** The sessions and subagents that can be read now. */
  readonly units: readonly Unit[];
  /** The stamps, by session id, of sessions that could be read earlier but not now. */
  readonly kept: ReadonlyMap<string, string>;
  /** Returns every transcript of the mirror, even if its lines do not exist yet. */
  files(): readonly DataFile[];
  /** Creates the missing lines of the transcripts in `paths`. Without `paths`, creates the lines of all transcripts. */
  translate(paths?: ReadonlySet<string>, options?: TranslateOptions): Promise<void>;
  /** Creates the lines of all transcripts before it returns. */
  translateNow(): void;
  /**
   * Reads the model calls of a session without creating its lines. The `sessionId` of the result is the id of the
   * parent session, or empty.
   */
  usage(unit: Unit): FileUsage;
  /** Returns the file of the session `id`, which need not exist. `all` gives the folders and parents of sessions. */
  fileFor(id: string, all: ReadonlyMap<string, Belongs>): DataFile;
}

const patienceMs = 60_000;

/** Finds which sessions exist. The content of a session is read only when needed. */
export function openMirror(place: MirrorPlace): Mirror {
  const { source, root, folder } = place;
  const load = (): MirrorState => loadState(folder, source.name, root);
  const found = unitsOf(place);
  const units = new Map(found.units.map((unit) => [unit.id, unit]));
  let state: MirrorState | undefined;
  /**
   * The state on the disk, or undefined if another process may have changed it. For thousands of sessions the state has
   * several megabytes, so it is read only when needed. Usage reports do not need it.
   */
  let loaded: MirrorState | undefined;
  const saved = (): MirrorState => (loaded ??= load());
  const current = (): MirrorState => (state ??= renewed(saved()));
  const renewed = (known: MirrorState): MirrorState => {
    if (isCurrent(known, found)) return known;
    const next = keepDatabases(() => nextState(place, known, found));
    saveState(folder, next);
    return next;
  };
  const kept = new Map(
    Object.entries(found.problems.length === 0 ? {} : saved().units).flatMap(([id, unit]): [string, string][] =>
      !units.has(id) && isBehind(unit, found.problems) ? [[id, unit.stamp]] : [],
    ),
  );
  const hadProblems = (markOf(folder)?.problems.length ?? 0) > 0;
  const problems = hadProblems ? problemsNow(found, saved()) : found.problems;
  if (units.size + kept.size + problems.length > 0)
    saveMark(folder, { source: source.name, root, claims: claimsOf(found), problems });

  /** True if a check found that the lines of all sessions exist. */
  let isWhole = false;
  /** The sessions whose lines are missing or outdated. */
  const missing = (paths?: ReadonlySet<string>): readonly [string, Unit][] => {
    const { units: known } = current();
    if (isWhole) return [];
    const wanted: [string, Unit][] = [];
    for (const unit of units.values()) {
      const before = known[unit.id];
      if (!before || before.lines?.stamp === unit.stamp) continue;
      if (paths?.has(pathIn(folder, before.place)) ?? true) wanted.push([unit.id, unit]);
    }
    isWhole = paths === undefined && wanted.length === 0;
    return wanted;
  };
  const made = new Map<string, MirroredUnit>();
  const failed: Problem[] = [];
  const make = (id: string, unit: Unit): void => {
    const known = current().units[id];
    if (!known) return;
    try {
      made.set(id, makeLines(place, unit, known));
    } catch (error) {
      failed.push({ path: unit.path, message: messageOf(error) });
    }
  };
  const save = (): void => {
    const now = current();
    // The old problems of translated sessions are removed. If a problem still exists, it is in `failed`.
    const tried = new Set([...made.values(), ...failed].map(({ path }) => path));
    const left = [...now.problems.filter(({ path }) => !tried.has(path)), ...failed];
    state = { ...now, units: { ...now.units, ...Object.fromEntries(made) }, problems: left };
    made.clear();
    failed.length = 0;
    saveState(folder, state);
  };

  return {
    folder,
    get problems() {
      return state?.problems ?? problems;
    },
    units: found.units,
    kept,
    files: () => filesOf(folder, current()),
    async translate(paths, { signal, onProgress } = {}) {
      if (missing(paths).length === 0) return;
      const done = await withLock(folder, patienceMs, () =>
        holdingDatabases(async () => {
          // Another process may have created some lines while this process waited for the lock.
          state = loaded = undefined;
          const wanted = missing(paths);
          const pause = createPause(signal);
          try {
            for (const [count, [id, unit]] of wanted.entries()) {
              make(id, unit);
              onProgress?.(count + 1, wanted.length);
              await pause();
            }
          } finally {
            save();
          }
        }),
      );
      const busy = { path: folder, message: "another process is reading it" };
      if (!done) state = { ...current(), problems: [...current().problems, busy] };
    },
    translateNow() {
      const wanted = missing();
      if (wanted.length === 0) return;
      keepDatabases(() => {
        for (const [id, unit] of wanted) make(id, unit);
      });
      save();
    },
    usage: (unit) => readUsage(source, unit),
    fileFor(id, all) {
      const at = placeOf(id, all);
      const stamp = units.get(id)?.stamp ?? "";
      return { ...plainFile(folder, at.place), origin: { stamp, lastMs: 0, cwd: null, hasLines: false } };
    },
  };
}

/** Returns the problems of folders, and of sessions that could not be read the last time. */
function problemsNow(found: Found, { problems: before, places = [] }: MirrorState): readonly Problem[] {
  if (before.length === 0) return found.problems;
  const unread = new Set(found.units.map(({ path }) => path));
  for (const path of [...places, ...found.problems.map((problem) => problem.path)]) unread.delete(path);
  return [...found.problems, ...before.filter(({ path }) => unread.has(path))];
}

function filesOf(folder: string, state: MirrorState): readonly DataFile[] {
  const before = filesOfStates.get(state);
  if (before) return before;
  const files = Object.values(state.units).map((unit) => fileOf(folder, unit));
  filesOfStates.set(state, files);
  return files;
}

/** Remembers the files, because a long-running process needs these thousands of files for each search. */
const filesOfStates = new WeakMap<MirrorState, readonly DataFile[]>();

/**
 * Returns a transcript of the mirror. If its lines are missing or outdated, its size is the size of the agent's file,
 * and its time is the time of the session's last activity.
 */
function fileOf(folder: string, unit: MirroredUnit): DataFile {
  const before = knownFiles.get(unit);
  if (before) return before;
  const { place, stamp, lastMs, cwd, bytes, lines } = unit;
  const hasLines = lines?.stamp === stamp;
  const file = {
    ...plainFile(folder, place),
    size: hasLines ? lines.size : bytes,
    mtimeMs: hasLines ? lines.mtimeMs : lastMs,
    inode: hasLines ? lines.inode : 0,
    origin: { stamp, lastMs, cwd, hasLines },
  };
  knownFiles.set(unit, file);
  return file;
}

/**
 * The files of sessions that have not changed since the last call. A session is in one mirror only, so it has one file.
 */
const knownFiles = new WeakMap<MirroredUnit, DataFile>();

/** Joins two normal paths faster than `join`, because a list joins thousands of paths. */
const pathIn = (folder: string, place: string): string => `${folder}${sep}${place}`;

function plainFile(folder: string, place: string): DataFile {
  const [, encodedPath = "", parent = "", kind] = place.split(sep);
  const stem = place.slice(place.lastIndexOf(sep) + 1, -".jsonl".length);
  const isAgent = kind === "subagents";
  return {
    path: pathIn(folder, place),
    root: folder,
    encodedPath,
    kind: isAgent ? "agent" : "session",
    layout: isAgent ? "subagents" : "main",
    sessionId: isAgent ? parent : stem,
    agentId: isAgent ? stem.slice("agent-".length) : undefined,
    workflowId: undefined,
    size: 0,
    mtimeMs: 0,
    inode: 0,
  };
}
