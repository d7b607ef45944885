/**
 * Keeps the sessions of another agent as transcripts in Claude Code's format in Skein's cache folder. The lines of a
 * session are created when they are first read, or all at once; only changed sessions are translated again. The folder
 * can be deleted at any time. Nothing is written into the agent's own folders. Reasons: decision 210.
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
  /** The stamps of sessions that could be read earlier but not now. */
  readonly kept: ReadonlyMap<string, string>;
  /** Every transcript of the mirror, also those whose lines do not exist yet. */
  files(): readonly DataFile[];
  /** Creates the lines of these transcripts, or of all. */
  translate(paths?: ReadonlySet<string>, options?: TranslateOptions): Promise<void>;
  /** Like `translate`, for all sessions at once and synchronously. */
  translateNow(): void;
  /** The model calls of a session, without creating its lines. The `sessionId` of the result is the id of the session's parent. */
  usage(unit: Unit): FileUsage;
  /** The file that the session `id` has or will have, if `all` is right about where each session belongs. */
  fileFor(id: string, all: ReadonlyMap<string, Belongs>): DataFile;
}

const patienceMs = 60_000;

/** Finds which sessions exist. Each is read only when needed. */
export function openMirror(place: MirrorPlace): Mirror {
  const { source, root, folder } = place;
  const load = (): MirrorState => loadState(folder, source.name, root);
  const found = unitsOf(place);
  const units = new Map(found.units.map((unit) => [unit.id, unit]));
  let state: MirrorState | undefined;
  /**
   * The state that was read from the disk; undefined if another process may have changed it since. It is read only when
   * needed: with thousands of sessions it is several megabytes, and sums do not need it.
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

  /** True after a check has shown that the lines of all sessions exist. */
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
    // Problems of sessions that are read again are reported again, so the old ones are removed.
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
          // Another process may have created some of the lines in the meantime.
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

/** Problems of places, and of sessions that could not be read the last time. */
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

/** Remembered, because a long-running process needs the same thousands of files at each search. */
const filesOfStates = new WeakMap<MirrorState, readonly DataFile[]>();

/** A transcript of a mirror. If its lines are missing or outdated, its size and time are those of the original. */
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

/** Files of sessions that have not changed since the last call of this process. Each unit is in one folder only. */
const knownFiles = new WeakMap<MirroredUnit, DataFile>();

/** Faster than `join`, because a list joins thousands of paths. Both parts are normal paths already. */
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
