/**
 * Keeps the sessions of another agent as transcripts of Claude Code's form in Skein's cache folder. Only what has changed is
 * translated again, and a session that has only grown is appended to, so that the index stays valid. The folder can be
 * deleted at any time. Nothing is written where the agent has its data.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { removeEmptyFolders, removeFile } from "../../disk/durable-files.ts";
import { withLock } from "../../disk/lock.ts";
import { createPause } from "../../scan/pause.ts";
import { encodeProjectPath } from "../claude-code/discover/encode-project-path.ts";
import type { HistorySource, Problem, Unit } from "../port/source.ts";
import { holdingDatabases } from "../port/sqlite.ts";
import { createTranscriptWriter } from "../port/transcript-writer.ts";
import { appendGrowth } from "./append-growth.ts";
import { loadState, saveState, type MirroredUnit, type MirrorState } from "./mirror-state.ts";

export interface MirrorOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

const patienceMs = 60_000;

/** Brings the mirror of one root up to date and returns what stood in the way. */
export async function mirrorRoot(
  source: HistorySource,
  root: string,
  folder: string,
  options: MirrorOptions = {},
): Promise<MirrorState> {
  const found = unitsOf(source, root);
  const known = loadState(folder, source.name, root);
  if (isCurrent(known, found)) return known;
  const work = async () => await holdingDatabases(() => update(source, root, folder, found, options));
  const done = await withLock(folder, patienceMs, work);
  if (done) return done.value;
  return { ...known, problems: [...known.problems, { path: folder, message: "another process is reading it" }] };
}

interface FoundUnits {
  readonly units: readonly Unit[];
  readonly problems: readonly Problem[];
}

function unitsOf(source: HistorySource, root: string): FoundUnits {
  try {
    return source.units(root);
  } catch (error) {
    return { units: [], problems: [{ path: root, message: messageOf(error) }] };
  }
}

function isCurrent(known: MirrorState, { units, problems }: FoundUnits): boolean {
  return (
    units.length === Object.keys(known.units).length &&
    units.every(({ id, stamp }) => known.units[id]?.stamp === stamp) &&
    known.problems.filter(({ path }) => problems.some((problem) => problem.path === path)).length === problems.length
  );
}

// oxlint-disable-next-line max-params
async function update(
  source: HistorySource,
  root: string,
  folder: string,
  { units, problems: found }: FoundUnits,
  options: MirrorOptions,
): Promise<MirrorState> {
  const pause = createPause(options.signal);
  const known = loadState(folder, source.name, root).units;
  const problems = [...found];
  const staged = new Map<string, string>();
  const next = new Map<string, MirroredUnit>();
  const changed = units.filter(({ id, stamp }) => known[id]?.stamp !== stamp);
  for (const unit of units) {
    const before = known[unit.id];
    if (before?.stamp === unit.stamp) next.set(unit.id, before);
  }
  for (const [done, unit] of changed.entries()) {
    try {
      const made = translate(source, unit, folder);
      staged.set(unit.id, made.staged);
      next.set(unit.id, made.unit);
    } catch (error) {
      problems.push({ path: unit.path, message: messageOf(error) });
      // What was read before is better than nothing; its stamp differs, so the next call tries again.
      const before = known[unit.id];
      if (before) next.set(unit.id, before);
    }
    options.onProgress?.(done + 1, changed.length);
    await pause();
  }
  const placed = new Map([...next].map(([id, unit]) => [id, { ...unit, ...placeOf(id, next, source.name) }]));
  for (const unit of units) put(folder, unit, known[unit.id], placed.get(unit.id), staged.get(unit.id));
  for (const [id, unit] of Object.entries(known)) {
    if (placed.has(id)) continue;
    // What cannot be read now may be there again later: it is kept as it was.
    if (isBehind(unit, found)) placed.set(id, unit);
    else remove(folder, unit);
  }
  const claims = units.flatMap(({ extra }) => (typeof extra?.["claims"] === "string" ? [extra["claims"]] : []));
  const state: MirrorState = { v: 1, source: source.name, root, units: Object.fromEntries(placed), problems, claims };
  saveState(folder, state);
  return state;
}

function isBehind({ path }: MirroredUnit, problems: readonly Problem[]): boolean {
  return problems.some((problem) => path === problem.path || path.startsWith(`${problem.path}/`));
}

function translate(source: HistorySource, unit: Unit, folder: string): { staged: string; unit: MirroredUnit } {
  const staged = join(folder, "staged", `${randomBytes(8).toString("hex")}.jsonl`);
  mkdirSync(dirname(staged), { recursive: true, mode: 0o700 });
  const fd = openSync(staged, "wx", 0o600);
  let waiting: string[] = [];
  let length = 0;
  const flush = (): void => {
    if (waiting.length > 0) writeSync(fd, waiting.join(""));
    waiting = [];
    length = 0;
  };
  try {
    const writer = createTranscriptWriter({
      source: source.name,
      sessionId: unit.id,
      onLine(line) {
        waiting.push(line);
        length += line.length;
        if (length > 1024 * 1024) flush();
      },
    });
    source.read(unit, writer);
    flush();
    const { cwd, parent } = writer.head;
    const { stamp, path } = unit;
    return {
      staged,
      unit: { stamp, path, cwd, parentId: parent?.sessionId ?? null, meta: parent?.meta ?? {}, place: "" },
    };
  } catch (error) {
    rmSync(staged, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Subagents lie in the folder of the session that they belong to, also those that other subagents started. */
function placeOf(
  id: string,
  units: ReadonlyMap<string, MirroredUnit>,
  name: string,
): Pick<MirroredUnit, "place" | "meta"> {
  let top = id;
  const seen = new Set([id]);
  for (let unit = units.get(id); unit?.parentId && units.has(unit.parentId) && !seen.has(unit.parentId);) {
    top = unit.parentId;
    seen.add(top);
    unit = units.get(top);
  }
  const project = join("projects", encodeProjectPath(units.get(top)?.cwd ?? `no-folder-${name}`));
  const unit = units.get(id);
  if (top === id) return { place: join(project, `${safe(id)}.jsonl`), meta: unit?.meta ?? {} };
  const direct = unit?.parentId ?? top;
  return {
    place: join(project, safe(top), "subagents", `agent-${safe(id)}.jsonl`),
    meta: { ...unit?.meta, ...(direct !== top && { parentAgentId: direct }) },
  };
}

/** Ids are file names. Those of all known agents are safe; another one is not trusted. */
function safe(id: string): string {
  return id
    .replaceAll(/[^A-Za-z0-9_.-]/g, "_")
    .replace(/^\.+/, "_")
    .slice(0, 200);
}

// oxlint-disable-next-line max-params
function put(
  folder: string,
  unit: Unit,
  before: MirroredUnit | undefined,
  now: MirroredUnit | undefined,
  staged: string | undefined,
): void {
  if (!now) return;
  const target = join(folder, now.place);
  const hasMoved = before !== undefined && before.place !== now.place;
  if (staged === undefined && !hasMoved) return;
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  if (hasMoved && statSync(join(folder, before.place), { throwIfNoEntry: false })) {
    renameSync(join(folder, before.place), target);
    removeEmptyFolders(dirname(join(folder, before.place)), folder);
  }
  if (staged !== undefined && !appendGrowth(staged, target)) renameSync(staged, target);
  if (unit.mtimeMs > 0) utimesSync(target, unit.mtimeMs / 1000, unit.mtimeMs / 1000);
  if (Object.keys(now.meta).length > 0)
    writeFileSync(`${target.slice(0, -".jsonl".length)}.meta.json`, JSON.stringify(now.meta), { mode: 0o600 });
}

function remove(folder: string, { place }: MirroredUnit): void {
  const path = join(folder, place);
  removeFile(path);
  removeFile(`${path.slice(0, -".jsonl".length)}.meta.json`);
  removeEmptyFolders(dirname(path), folder);
}

function messageOf(error: unknown): string {
  if (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    !error.code.startsWith("ERR_SQLITE")
  )
    return error.code;
  return error instanceof Error ? error.message : String(error);
}
