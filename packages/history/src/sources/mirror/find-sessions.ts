/** Finds the sessions of a root, and the folder of each session in the mirror, without reading conversations. */
import { renameSync, statSync, mkdirSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { removeEmptyFolders, removeFile } from "../../disk/durable-files.ts";
import { encodeProjectPath } from "../claude-code/discover/encode-project-path.ts";
import { folderPath } from "../port/folder-path.ts";
import { readHead } from "../port/head-writer.ts";
import { lastTimeIn } from "../port/last-time.ts";
import type { Found, TranslatedSource, Problem, Unit } from "../port/source.ts";
import type { MirroredUnit, MirrorState } from "./mirror-state.ts";

/** A source, one of its roots, and the folder of the mirror. */
export interface MirrorPlace {
  readonly source: TranslatedSource;
  readonly root: string;
  readonly folder: string;
}

export function unitsOf({ source, root }: MirrorPlace): Found {
  try {
    return source.units(root);
  } catch (error) {
    return { units: [], problems: [{ path: root, message: messageOf(error) }] };
  }
}

/** Returns true if the sessions have not changed since the state was saved. */
export function isCurrent(known: MirrorState, { units, problems }: Found): boolean {
  const { places = [] } = known;
  return (
    units.length === Object.keys(known.units).length &&
    units.every(({ id, stamp }) => known.units[id]?.stamp === stamp) &&
    places.length === problems.length &&
    problems.every(({ path }) => places.includes(path))
  );
}

/** Returns the state with the sessions that exist now, and removes the lines of deleted sessions. */
export function nextState({ source, root, folder }: MirrorPlace, known: MirrorState, found: Found): MirrorState {
  const problems = [...found.problems];
  const heads = new Map<string, MirroredUnit>();
  for (const unit of found.units) {
    const before = known.units[unit.id];
    try {
      heads.set(unit.id, before?.stamp === unit.stamp ? before : headOf(source, unit, before));
    } catch (error) {
      problems.push({ path: unit.path, message: messageOf(error) });
      // The earlier data about the session is used. Its stamp is outdated, so the next call tries again.
      if (before) heads.set(unit.id, before);
    }
  }
  const placed = new Map(
    [...heads].map(([id, unit]) => [id, { ...unit, place: placeOf(id, heads).place, meta: metaOf(id, heads) }]),
  );
  for (const [id, unit] of Object.entries(known.units)) {
    const now = placed.get(id);
    if (now) move(folder, unit, now);
    // A session that cannot be read now keeps its earlier state, because it may be readable later.
    else if (isBehind(unit, found.problems)) placed.set(id, unit);
    else remove(folder, unit);
  }
  const places = found.problems.map(({ path }) => path);
  return { ...known, root, units: Object.fromEntries(placed), problems, places, claims: claimsOf(found) };
}

/** Returns the transcripts in the folder of Claude Code that belong to these sessions. */
export function claimsOf({ units }: Found): readonly string[] {
  const claims: string[] = [];
  // A plain loop is fastest. Every search runs it for thousands of sessions, and few of them have a claim.
  for (const { extra } of units) if (typeof extra?.["claims"] === "string") claims.push(extra["claims"]);
  return claims;
}

function headOf(source: TranslatedSource, unit: Unit, before: MirroredUnit | undefined): MirroredUnit {
  const { stamp, path, mtimeMs, head } = unit;
  const { cwd, parent } = head ? { cwd: head.cwd && folderPath(head.cwd), parent: undefined } : readHead(source, unit);
  return {
    stamp,
    path,
    cwd,
    parentId: head?.parentId ?? parent?.sessionId ?? null,
    meta: parent?.meta ?? {},
    place: "",
    lastMs: (source.lastTime ? source.lastTime(unit) : lastTimeIn(unit.timed ?? path)) ?? mtimeMs,
    bytes: unit.bytes ?? statSync(path, { throwIfNoEntry: false })?.size ?? 0,
    ...(before?.lines && { lines: before.lines }),
  };
}

/** The working directory and the parent session of a session. */
export interface Belongs {
  readonly cwd: string | null;
  readonly parentId: string | null;
}

/** The path of a session's file in the mirror, and the id of its main session. */
export interface PlacedFile {
  readonly place: string;
  readonly encodedPath: string;
  /** The id of the main session. For a subagent, this is the session at the top of its parents. */
  readonly sessionId: string;
}

/** The folder for sessions without a working directory. Lists and sums show its name as the project. */
const NO_PROJECT = "no project";

/**
 * Returns the place of a session. Every subagent is in the folder of the main session, even if another subagent started
 * it.
 */
export function placeOf(id: string, units: ReadonlyMap<string, Belongs>): PlacedFile {
  const top = topOf(id, units);
  const cwd = units.get(top)?.cwd ?? null;
  const encodedPath = cwd === null ? NO_PROJECT : encodeProjectPath(cwd);
  const project = `projects${sep}${encodedPath}`;
  const sessionId = safe(top);
  if (top === id) return { place: `${project}${sep}${sessionId}.jsonl`, encodedPath, sessionId };
  return { place: join(project, sessionId, "subagents", `agent-${safe(id)}.jsonl`), encodedPath, sessionId };
}

function topOf(id: string, units: ReadonlyMap<string, Belongs>): string {
  let unit = units.get(id);
  if (!unit?.parentId) return id;
  let top = id;
  const seen = new Set([id]);
  for (; unit?.parentId && units.has(unit.parentId) && !seen.has(unit.parentId);) {
    top = unit.parentId;
    seen.add(top);
    unit = units.get(top);
  }
  return top;
}

function metaOf(id: string, units: ReadonlyMap<string, MirroredUnit>): MirroredUnit["meta"] {
  const unit = units.get(id);
  const top = topOf(id, units);
  const isNested = top !== id && unit?.parentId && unit.parentId !== top;
  return { ...unit?.meta, ...(isNested && { parentAgentId: unit.parentId ?? top }) };
}

/** Returns the id as a safe file name. The ids of all known agents are safe and stay unchanged. */
function safe(id: string): string {
  return id
    .replaceAll(/[^A-Za-z0-9_.-]/g, "_")
    .replace(/^\.+/, "_")
    .slice(0, 200);
}

export function isBehind({ path }: MirroredUnit, problems: readonly Problem[]): boolean {
  return problems.some((problem) => path === problem.path || path.startsWith(`${problem.path}/`));
}

function move(folder: string, before: MirroredUnit, now: MirroredUnit): void {
  if (before.place === now.place) return;
  const [from, to] = [join(folder, before.place), join(folder, now.place)];
  if (!statSync(from, { throwIfNoEntry: false })) return;
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  renameSync(from, to);
  removeFile(metaPath(from));
  removeEmptyFolders(dirname(from), folder);
}

function remove(folder: string, { place }: MirroredUnit): void {
  const path = join(folder, place);
  removeFile(path);
  removeFile(metaPath(path));
  removeEmptyFolders(dirname(path), folder);
}

/** Returns the path of the file with information about a subagent. The file is beside the lines of the subagent. */
export function metaPath(lines: string): string {
  return `${lines.slice(0, -".jsonl".length)}.meta.json`;
}

export function messageOf(error: unknown): string {
  if (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    !error.code.startsWith("ERR_SQLITE")
  )
    return error.code;
  return error instanceof Error ? error.message : String(error);
}
