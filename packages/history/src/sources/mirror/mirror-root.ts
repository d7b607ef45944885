/**
 * Keeps the sessions of another agent as transcripts of Claude Code's form in Skein's cache folder. The lines of a session
 * are made when something reads them, or all at once; only what has changed is translated again. The folder can be deleted
 * at any time. Nothing is written where the agent has its data.
 */
import { basename, join } from "node:path";
import { withLock } from "../../disk/lock.ts";
import type { DataFile } from "../../model/data-file.ts";
import { createPause } from "../../scan/pause.ts";
import type { FileUsage } from "../claude-code/usage/file-usage.ts";
import type { Problem, Unit } from "../port/source.ts";
import { holdingDatabases, keepDatabases } from "../port/sqlite.ts";
import { readUsage } from "../port/usage-writer.ts";
import { isCurrent, messageOf, nextState, unitsOf, type MirrorPlace } from "./find-sessions.ts";
import { makeLines } from "./make-lines.ts";
import { loadState, saveState, type MirroredUnit, type MirrorState } from "./mirror-state.ts";

export interface TranslateOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface Mirror {
  readonly folder: string;
  readonly problems: readonly Problem[];
  /** How many sessions and subagents it has. */
  readonly count: number;
  /** Every transcript of it, also those whose lines are not made yet. */
  files(): readonly DataFile[];
  /** Makes the lines of these transcripts, or of all. */
  translate(paths?: ReadonlySet<string>, options?: TranslateOptions): Promise<void>;
  /** The same at once, for whoever cannot wait. */
  translateNow(): void;
  /** The model calls of a transcript, which needs no lines for it. */
  usage(path: string): FileUsage;
}

const patienceMs = 60_000;

/** Looks which sessions there are now. */
export async function openMirror(place: MirrorPlace): Promise<Mirror> {
  const { source, root, folder } = place;
  const load = (): MirrorState => loadState(folder, source.name, root);
  const found = unitsOf(place);
  const units = new Map(found.units.map((unit) => [unit.id, unit]));
  let state = load();
  if (!isCurrent(state, found)) {
    const renewed = await withLock(folder, patienceMs, () =>
      holdingDatabases(async () => {
        const next = nextState(place, load(), found);
        saveState(folder, next);
        return await Promise.resolve(next);
      }),
    );
    const busy = { path: folder, message: "another process is reading it" };
    state = renewed?.value ?? { ...state, problems: [...state.problems, busy] };
  }

  /** The sessions whose lines are not those of today. */
  const missing = (paths?: ReadonlySet<string>): readonly [string, Unit][] =>
    Object.entries(state.units).flatMap(([id, known]): [string, Unit][] => {
      const unit = units.get(id);
      const isWanted = paths?.has(join(folder, known.place)) ?? true;
      return unit && isWanted && known.lines?.stamp !== unit.stamp ? [[id, unit]] : [];
    });
  let ids: ReadonlyMap<string, string> | undefined;
  const made = new Map<string, MirroredUnit>();
  const failed: Problem[] = [];
  const make = (id: string, unit: Unit): void => {
    const known = state.units[id];
    if (!known) return;
    try {
      made.set(id, makeLines(place, unit, known));
    } catch (error) {
      failed.push({ path: unit.path, message: messageOf(error) });
    }
  };
  const save = (): void => {
    // Problems of sessions that were tried again are told anew.
    const kept = state.problems.filter(({ path }) => ![...made.values()].some((unit) => unit.path === path));
    const problems = [...kept.filter(({ path }) => !failed.some((problem) => problem.path === path)), ...failed];
    state = { ...state, units: { ...state.units, ...Object.fromEntries(made) }, problems };
    made.clear();
    failed.length = 0;
    saveState(folder, state);
  };

  return {
    folder,
    get problems() {
      return state.problems;
    },
    get count() {
      return Object.keys(state.units).length;
    },
    files: () => Object.values(state.units).map((unit) => fileOf(folder, unit)),
    async translate(paths, { signal, onProgress } = {}) {
      if (missing(paths).length === 0) return;
      await withLock(folder, patienceMs, () =>
        holdingDatabases(async () => {
          // Another process may have made some of them meanwhile.
          state = { ...load(), problems: state.problems };
          const wanted = missing(paths);
          const pause = createPause(signal);
          try {
            for (const [done, [id, unit]] of wanted.entries()) {
              make(id, unit);
              onProgress?.(done + 1, wanted.length);
              await pause();
            }
          } finally {
            save();
          }
        }),
      );
    },
    translateNow() {
      const wanted = missing();
      if (wanted.length === 0) return;
      keepDatabases(() => {
        for (const [id, unit] of wanted) make(id, unit);
      });
      save();
    },
    usage(path) {
      ids ??= new Map(Object.entries(state.units).map(([id, { place: at }]) => [join(folder, at), id]));
      const id = ids.get(path) ?? "";
      const [unit, known] = [units.get(id), state.units[id]];
      if (!unit || !known) throw new Error("The session is gone.");
      return readUsage(source, unit, known.cwd);
    },
  };
}

/** A transcript of a mirror. Without lines of today, its size and time are those of the original. */
function fileOf(folder: string, unit: MirroredUnit): DataFile {
  const { place, stamp, lastMs, cwd, bytes, lines } = unit;
  const [, encodedPath = "", parent = "", kind] = place.split(/[\\/]/);
  const stem = basename(place, ".jsonl");
  const isAgent = kind === "subagents";
  const hasLines = lines?.stamp === stamp;
  return {
    path: join(folder, place),
    root: folder,
    encodedPath,
    kind: isAgent ? "agent" : "session",
    layout: isAgent ? "subagents" : "main",
    sessionId: isAgent ? parent : stem,
    agentId: isAgent ? stem.slice("agent-".length) : undefined,
    workflowId: undefined,
    size: hasLines ? lines.size : bytes,
    mtimeMs: hasLines ? lines.mtimeMs : lastMs,
    inode: hasLines ? lines.inode : 0,
    origin: { stamp, lastMs, cwd, hasLines },
  };
}
