/** The state of the mirror of one root: what is known about its sessions. It is stored in the mirror's folder. */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Problem, SourceName } from "../port/source.ts";
import type { RootMark } from "./source-of-root.ts";

export interface MirroredUnit {
  readonly stamp: string;
  /** The path of the original. */
  readonly path: string;
  readonly cwd: string | null;
  /** The session that started it, if it is a subagent. */
  readonly parentId: string | null;
  readonly meta: Readonly<Record<string, string>>;
  /** The path of the translated lines, relative to the mirror. */
  readonly place: string;
  /** The time of the session's last activity, as far as it is known without reading the session. */
  readonly lastMs: number;
  readonly bytes: number;
  /** The created lines, and the stamp of the session at that time. */
  readonly lines?: MadeLines;
}

interface MadeLines {
  readonly stamp: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
}

export interface MirrorState {
  readonly v: number;
  readonly source: SourceName;
  readonly root: string;
  readonly units: Readonly<Record<string, MirroredUnit>>;
  readonly problems: readonly Problem[];
  /** The paths of those problems that do not belong to a single session. */
  readonly places?: readonly string[];
  /** Transcripts in Claude Code's folder that are shown as sessions of this source. */
  readonly claims: readonly string[];
}

/** Increase it when a translation changes: everything is then translated again. */
const version = 8;

function emptyState(source: SourceName, root: string): MirrorState {
  return { v: version, source, root, units: {}, problems: [], claims: [] };
}

const known = new Map<string, { readonly stamp: string; readonly state: MirrorState }>();

/** The saved state. A long-running process parses it again only after it has changed. */
export function loadState(folder: string, source: SourceName, root: string): MirrorState {
  const path = join(folder, "state.json");
  const stat = statSync(path, { throwIfNoEntry: false });
  const stamp = stat ? `${stat.size}.${stat.mtimeMs}.${stat.ino}` : "";
  const before = known.get(folder);
  const state = before?.stamp === stamp ? before.state : parseState(path);
  if (state?.v !== version || state.source !== source || state.root !== root) return emptyState(source, root);
  known.set(folder, { stamp, state });
  return state;
}

function parseState(path: string): MirrorState | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as MirrorState;
  } catch {
    // There is no state yet, or it is incomplete: everything is read again.
    return undefined;
  }
}

export function saveState(folder: string, state: MirrorState): void {
  replaceFile(join(folder, "state.json"), JSON.stringify(state));
  saveMark(folder, state);
}

/** Writes a small file into the folder that says which agent its sessions belong to. */
export function saveMark(folder: string, { source, root, claims, problems }: RootMark): void {
  const text = JSON.stringify({ source, root, claims, problems });
  const path = join(folder, "source.json");
  if (readOrNothing(path) !== text) replaceFile(path, text);
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** A concurrent reader of the file sees the old or the new content. */
function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.${process.pid}`, text, { mode: 0o600 });
  renameSync(`${path}.${process.pid}`, path);
}
