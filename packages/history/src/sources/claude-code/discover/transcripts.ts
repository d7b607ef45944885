/**
 * Finds the transcripts in a data directory of Claude Code, or in the translated data directory of another coding
 * agent. It finds sessions, and subagents in all layouts that Claude Code has used. It does not find the project of a
 * session, because only the lines have the path.
 */
import { lstatSync, readdirSync, statSync, type Dirent } from "node:fs";
import { dirname, join, sep } from "node:path";
import type { DataFile, SeenFolder, SkippedFile } from "../../../model/data-file.ts";
import { getProjectsPath } from "./data-paths.ts";

/** What was found so far. */
export interface Walk {
  readonly files: DataFile[];
  readonly skipped: SkippedFile[];
  readonly folders: SeenFolder[];
  readonly atMs: number;
}

export function newWalk(): Walk {
  return { files: [], skipped: [], folders: [], atMs: Date.now() };
}

/** Adds the transcripts of a data directory to `walk`. */
export function walkRoot(walk: Walk, root: string): void {
  const projects = getProjectsPath(root);
  for (const entry of projectsOf(projects, walk)) {
    if (entry.isDirectory()) walkProject(walk, root, entry.name);
    else if (entry.isSymbolicLink()) walk.skipped.push({ path: join(projects, entry.name), reason: "symlink" });
  }
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
    // The file no longer exists, or this user may not read it.
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

/**
 * Lists the project folders. A missing folder means no projects. An unreadable folder is an error: it may have
 * sessions.
 */
function projectsOf(folder: string, walk: Walk): readonly Dirent[] {
  walk.folders.push(seen(folder));
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
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

/**
 * Notes the change time of a folder. If it does not exist, notes its parent, which changes when the folder is created.
 */
function seen(folder: string): SeenFolder {
  const stat = statSync(folder, { throwIfNoEntry: false });
  return stat ? { path: folder, changedMs: stat.ctimeMs } : seen(dirname(folder));
}

function isTranscriptName(name: string): boolean {
  return name.endsWith(".jsonl");
}

function isLeftover(name: string): boolean {
  return /\.jsonl\.backup$|\.orphaned|\.superseded/.test(name);
}
