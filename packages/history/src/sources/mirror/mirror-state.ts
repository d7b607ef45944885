/** What the mirror of one root knows of its sessions, kept beside them. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Problem, SourceName } from "../port/source.ts";

export interface MirroredUnit {
  readonly stamp: string;
  /** The original. */
  readonly path: string;
  readonly cwd: string | null;
  /** The session that started it, if it is a subagent. */
  readonly parentId: string | null;
  readonly meta: Readonly<Record<string, string>>;
  /** Where the translated lines are, below the mirror. */
  readonly place: string;
}

export interface MirrorState {
  readonly v: number;
  readonly source: SourceName;
  readonly root: string;
  readonly units: Readonly<Record<string, MirroredUnit>>;
  readonly problems: readonly Problem[];
  /** Transcripts in Claude Code's own folder that this source shows itself. */
  readonly claims: readonly string[];
}

/** Raise it when a translation changes: everything is then translated again. */
const version = 1;

export function loadState(folder: string, source: SourceName, root: string): MirrorState {
  const empty = { v: version, source, root, units: {}, problems: [], claims: [] };
  try {
    const state = JSON.parse(readFileSync(join(folder, "state.json"), "utf8")) as MirrorState;
    return state.v === version && state.source === source && state.root === root ? state : empty;
  } catch {
    return empty;
  }
}

export function saveState(folder: string, state: MirrorState): void {
  const path = join(folder, "state.json");
  writeFileSync(`${path}.${process.pid}`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${path}.${process.pid}`, path);
  const mark = join(folder, "source.json");
  const { source, root, claims, problems } = state;
  writeFileSync(`${mark}.${process.pid}`, JSON.stringify({ source, root, claims, problems }), { mode: 0o600 });
  renameSync(`${mark}.${process.pid}`, mark);
}
