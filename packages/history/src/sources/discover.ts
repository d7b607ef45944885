/**
 * Finds the transcripts of every source. Claude Code's transcripts are read in place. Sessions of other coding agents
 * are translated into transcripts in a mirror, which is a cache folder.
 */
import { realpathSync } from "node:fs";
import type { LibraryConfig } from "../config.ts";
import { DataNotFoundError } from "../errors.ts";
import type { DataFile, Discovered } from "../model/data-file.ts";
import { dataPaths } from "./claude-code/discover/data-paths.ts";
import { newWalk, walkRoot } from "./claude-code/discover/transcripts.ts";
import { isFolder } from "./port/files.ts";
import { markOf, sourceOfRoot, type RootMark } from "./mirror/source-of-root.ts";

/** Returns every transcript in every data directory. Sessions of other agents are translated first. */
export function discover(config: LibraryConfig): Discovered {
  for (const mirror of config.mirrors?.values() ?? []) mirror.translateNow();
  // A mirror has a list of its files. Reading the folders of the mirror would take longer than a search.
  return find(config, (root) => {
    const mirror = config.mirrors?.get(root);
    return mirror && withoutOrigin(mirror.files());
  });
}

/**
 * Remembers the files of a mirror without `origin`, because a long-running process needs thousands of files for each
 * search.
 */
const plainFiles = new WeakMap<readonly DataFile[], readonly DataFile[]>();

function withoutOrigin(files: readonly DataFile[]): readonly DataFile[] {
  const known = plainFiles.get(files);
  if (known) return known;
  const plain = files.map(({ origin: _made, ...file }) => file);
  plainFiles.set(files, plain);
  return plain;
}

/**
 * Returns every transcript without translating sessions of other agents. `origin` says whether a session is already
 * translated.
 */
export function discoverUnread(config: LibraryConfig): Discovered {
  return find(config, (root) => config.mirrors?.get(root)?.files());
}

/** Returns only transcripts that are read in place. The roots of other agents are listed too. */
export function discoverOwn(config: LibraryConfig): Discovered {
  return find(config, (root) => (config.mirrors?.has(root) ? [] : undefined));
}

function find(config: LibraryConfig, knownFiles: (root: string) => readonly DataFile[] | undefined): Discovered {
  const all = existingRoots(config);
  const roots = all.filter((root) => config.sources?.includes(sourceOfRoot(root)) ?? true);
  const walk = newWalk();
  for (const root of roots) {
    const known = knownFiles(root);
    if (known) for (const file of known) walk.files.push(file);
    else walkRoot(walk, root);
  }
  for (const { path, message } of roots.flatMap((root) => markOf(root)?.problems ?? []))
    walk.skipped.push({ path, reason: "unreadable", message });
  // If two agents have a session, it belongs to the agent with a claim, even if this agent was not requested.
  const marks = all.flatMap((root) => markOf(root) ?? []);
  return { roots, ...walk, files: unclaimed(marks, walk.files) };
}

/** Returns the files without the transcripts that another source claims, and without their subagents. */
function unclaimed(marks: readonly RootMark[], files: readonly DataFile[]): readonly DataFile[] {
  const claims = new Set(marks.flatMap((mark) => mark.claims));
  if (claims.size === 0) return files;
  const folders = [...claims].map((path) => `${path.slice(0, -".jsonl".length)}/`);
  return files.filter(({ path }) => !claims.has(path) && !folders.some((folder) => path.startsWith(folder)));
}

/** Returns the data directories that exist. Lists each directory once, even if several paths lead to it. */
export function existingRoots(config: LibraryConfig): readonly string[] {
  const roots = new Set<string>();
  const wanted = dataPaths(config);
  for (const { path, expected } of wanted) {
    if (isFolder(path)) roots.add(realpathSync(path));
    else if (expected && config.dataPath !== undefined) throw new DataNotFoundError(path);
  }
  if (roots.size === 0) throw new DataNotFoundError(wanted[0]?.path ?? "");
  return [...roots];
}
