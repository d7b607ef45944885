/**
 * Finds the agent of a data directory. A mirror has a small file with the name of the agent. All other directories
 * belong to Claude Code.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isSourceName, type Problem, type SourceName } from "../port/source.ts";

export interface RootMark {
  readonly source: SourceName;
  /** The folder or the database from which the mirror was made. */
  readonly root: string;
  /** Transcripts of Claude Code that are listed as sessions of this source. */
  readonly claims: readonly string[];
  /** The parts of the agent's data that could not be read. */
  readonly problems: readonly Problem[];
}

export function markOf(root: string): RootMark | undefined {
  try {
    const mark = JSON.parse(readFileSync(join(root, "source.json"), "utf8")) as Partial<RootMark>;
    if (typeof mark.source !== "string" || !isSourceName(mark.source)) return undefined;
    return { source: mark.source, root: mark.root ?? root, claims: mark.claims ?? [], problems: mark.problems ?? [] };
  } catch {
    return undefined;
  }
}

const known = new Map<string, SourceName>();

/** Returns the source of a root. The source never changes, so it is looked up only once. */
export function sourceOfRoot(root: string): SourceName {
  const found = known.get(root) ?? markOf(root)?.source ?? "claude-code";
  known.set(root, found);
  return found;
}
