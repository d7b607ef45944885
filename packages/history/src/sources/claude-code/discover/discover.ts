import { lstatSync, readdirSync, realpathSync, statSync, type Dirent } from "node:fs";
import { dirname, join, sep } from "node:path";
import type { LibraryConfig } from "../../../config.ts";
import { DataNotFoundError } from "../../../errors.ts";
import { markOf, sourceOfRoot, type RootMark } from "../../mirror/source-of-root.ts";
import { dataPaths, getProjectsPath } from "./data-paths.ts";
import type { DataFile, Discovered, SeenFolder, SkippedFile } from "../../../model/data-file.ts";

/**
 * Finds every transcript in every data directory: sessions, and subagents in all layouts that Claude Code has used.
 * The project is not taken from the folder name, because only the lines have the path.
 */
export function discover(config: LibraryConfig): Discovered {
  for (const mirror of config.mirrors?.values() ?? []) mirror.translateNow();
  return find(config, () => undefined);
}

/** Like `discover`, but sessions of other agents need no lines yet: `origin` tells whether they have them. */
export function discoverUnread(config: LibraryConfig): Discovered {
  return find(config, (root) => config.mirrors?.get(root)?.files());
}

/** Only the transcripts that Claude Code keeps itself; the roots of other agents are among the roots. */
export function discoverOwn(config: LibraryConfig): Discovered {
  return find(config, (root) => (config.mirrors?.has(root) ? [] : undefined));
}

function find(config: LibraryConfig, knownFiles: (root: string) => readonly DataFile[] | undefined): Discovered {
  const all = existingRoots(config);
  const roots = all.filter((root) => config.sources?.includes(sourceOfRoot(root)) ?? true);
  const walk: Walk = { files: [], skipped: [], folders: [], atMs: Date.now() };
  for (const root of roots) {
    const known = knownFiles(root);
    if (known) {
      for (const file of known) walk.files.push(file);
      continue;
    }
    const projects = getProjectsPath(root);
    for (const entry of projectsOf(projects, walk)) {
      if (entry.isDirectory()) walkProject(walk, root, entry.name);
      else if (entry.isSymbolicLink()) walk.skipped.push({ path: join(projects, entry.name), reason: "symlink" });
    }
  }
  for (const { path, message } of roots.flatMap((root) => markOf(root)?.problems ?? []))
    walk.skipped.push({ path, reason: "unreadable", message });
  // A session that two agents show stays with the one that claims it, also if that one is not asked for.
  const marks = all.flatMap((root) => markOf(root) ?? []);
  return { roots, ...walk, files: unclaimed(marks, walk.files) };
}

/** Without the transcripts that another source shows as its own, and without their subagents. */
function unclaimed(marks: readonly RootMark[], files: readonly DataFile[]): readonly DataFile[] {
  const claims = new Set(marks.flatMap((mark) => mark.claims));
  if (claims.size === 0) return files;
  const folders = [...claims].map((path) => `${path.slice(0, -".jsonl".length)}/`);
  return files.filter(({ path }) => !claims.has(path) && !folders.some((folder) => path.startsWith(folder)));
}

/** The data directories that exist, each once, also if several paths lead to it. */
export function existingRoots(config: LibraryConfig): readonly string[] {
  const roots = new Set<string>();
  const wanted = dataPaths(config);
  for (const { path, expected } of wanted) {
    if (isDirectory(path)) roots.add(realpathSync(path));
    else if (expected && config.dataPath !== undefined) throw new DataNotFoundError(path);
  }
  if (roots.size === 0) throw new DataNotFoundError(wanted[0]?.path ?? "");
  return [...roots];
}

interface Walk {
  readonly files: DataFile[];
  readonly skipped: SkippedFile[];
  readonly folders: SeenFolder[];
  readonly atMs: number;
}

function walkProject(walk: Walk, root: string, encodedPath: string): void {
  const folder = join(getProjectsPath(root), encodedPath);
  for (const entry of entriesOf(folder, walk)) {
    const path = folder + sep + entry.name;
    if (entry.isDirectory()) {
      walkSubagents(walk, { root, encodedPath, folder: join(path, "subagents"), sessionId: entry.name });
      continue;
    }
    if (!isTranscriptName(entry.name)) {
      if (isLeftover(entry.name)) walk.skipped.push({ path, reason: "leftover" });
      continue;
    }
    const stem = entry.name.slice(0, -".jsonl".length);
    const isAgent = stem.startsWith("agent-");
    add(walk, entry, {
      path,
      root,
      encodedPath,
      kind: isAgent ? "agent" : "session",
      layout: isAgent ? "legacy" : "main",
      sessionId: isAgent ? undefined : stem,
      agentId: isAgent ? stem.slice("agent-".length) : undefined,
      workflowId: undefined,
    });
  }
}

interface SubagentFolder {
  readonly root: string;
  readonly encodedPath: string;
  readonly folder: string;
  readonly sessionId: string;
  readonly workflowId?: string;
}

function walkSubagents(walk: Walk, at: SubagentFolder): void {
  for (const entry of entriesOf(at.folder, walk)) {
    const path = at.folder + sep + entry.name;
    if (entry.isDirectory()) {
      if (at.workflowId !== undefined) continue;
      // subagents/workflows/wf_<id>/
      for (const run of entry.name === "workflows" ? entriesOf(path, walk) : []) {
        if (run.isDirectory()) walkSubagents(walk, { ...at, folder: join(path, run.name), workflowId: run.name });
      }
      continue;
    }
    if (!isTranscriptName(entry.name) || !entry.name.startsWith("agent-")) continue;
    add(walk, entry, {
      path,
      root: at.root,
      encodedPath: at.encodedPath,
      kind: "agent",
      layout: at.workflowId === undefined ? "subagents" : "workflow",
      sessionId: at.sessionId,
      agentId: entry.name.slice("agent-".length, -".jsonl".length),
      workflowId: at.workflowId,
    });
  }
}

function add(walk: Walk, entry: Dirent, file: Omit<DataFile, "size" | "mtimeMs" | "inode">): void {
  const reason = reasonToSkip(entry);
  if (reason) {
    walk.skipped.push({ path: file.path, reason });
    return;
  }
  try {
    const { size, mtimeMs, ino } = lstatSync(file.path);
    walk.files.push(Object.assign(file, { size, mtimeMs, inode: ino }));
  } catch {
    // The file was deleted meanwhile, or this user may not see it.
    walk.skipped.push({ path: file.path, reason: "unreadable" });
  }
}

function reasonToSkip(entry: Dirent): SkippedFile["reason"] | undefined {
  if (entry.isFile()) return undefined;
  if (entry.isSymbolicLink()) return "symlink";
  if (entry.isFIFO()) return "pipe";
  if (entry.isSocket()) return "socket";
  return "device";
}

/** A missing folder means no projects. A folder that may not be read is an error, because there may be sessions in it. */
function projectsOf(folder: string, walk: Walk): readonly Dirent[] {
  walk.folders.push(seen(folder));
  if (!isDirectory(folder)) return [];
  return readdirSync(folder, { withFileTypes: true });
}

function entriesOf(folder: string, walk: Walk): readonly Dirent[] {
  try {
    walk.folders.push(seen(folder));
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "ENOENT" && code !== "ENOTDIR") walk.skipped.push({ path: folder, reason: "unreadable" });
    return [];
  }
}

/** For a folder that does not exist, its parent is noted: the parent changes when the folder is made. */
function seen(folder: string): SeenFolder {
  const stat = statSync(folder, { throwIfNoEntry: false });
  return stat ? { path: folder, changedMs: stat.ctimeMs } : seen(dirname(folder));
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isTranscriptName(name: string): boolean {
  return name.endsWith(".jsonl");
}

function isLeftover(name: string): boolean {
  return /\.jsonl\.backup$|\.orphaned|\.superseded/.test(name);
}
