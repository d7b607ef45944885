/**
 * Reads and writes the state of a mirror: what Skein knows about the sessions of one root. The state is a file in the
 * folder of the mirror.
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Problem, SourceName } from "../port/source.ts";
import type { RootMark } from "./source-of-root.ts";

export interface MirroredUnit {
  readonly stamp: string;
  /** The path of the file or database from which the session was read. */
  readonly path: string;
  readonly cwd: string | null;
  /** The session that started this subagent, or null. */
  readonly parentId: string | null;
  readonly meta: Readonly<Record<string, string>>;
  /** The path of the translated lines, relative to the mirror. */
  readonly place: string;
  /** The estimated time of the session's last activity, from the end of its file or from the file's time. */
  readonly lastMs: number;
  readonly bytes: number;
  /** The file with the translated lines, and the stamp of the session when they were created. */
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
  /** The paths of problems that belong to no session. */
  readonly places?: readonly string[];
  /** Transcripts in the folder of Claude Code that are listed as sessions of this source. */
  readonly claims: readonly string[];
}

/**
 * The version of all translations. If a translation changes, increase this version, and everything is translated again.
 */
const version = 8;

function emptyState(source: SourceName, root: string): MirrorState {
  return { v: version, source, root, units: {}, problems: [], claims: [] };
}

const known = new Map<string, { readonly stamp: string; readonly state: MirrorState }>();

/** Returns the saved state. A long-running process parses it again only after a change. */
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
    // If the state is missing or incomplete, everything is read again.
    return undefined;
  }
}

export function saveState(folder: string, state: MirrorState): void {
  replaceFile(join(folder, "state.json"), JSON.stringify(state));
  saveMark(folder, state);
}

/** Writes a small file that says from which agent the sessions of this folder come. */
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

/** Replaces a file. A concurrent reader sees the old or the new content. */
function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.${process.pid}`, text, { mode: 0o600 });
  renameSync(`${path}.${process.pid}`, path);
}
