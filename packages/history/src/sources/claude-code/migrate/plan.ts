/** Plans which files of a session are copied or moved, and where to. This module writes nothing. */
import { lstatSync, readlinkSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { DataFile } from "../../../model/data-file.ts";
import { encodeProjectPath } from "../discover/encode-project-path.ts";
import type { Change } from "../../../migrate/copy-file.ts";
import { exists, filesBelow } from "../../../disk/durable-files.ts";
import type { PathMapping } from "../../../migrate/path-mapping.ts";

export interface PlannedFile {
  readonly from: string;
  readonly to: string;
  readonly change: Change;
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
  readonly mode: number;
  /** The target of a symbolic link; null for a file. */
  readonly link: string | null;
  /** The folder for temporary files, on the same disk as the destination. */
  readonly toTop: string;
  readonly fromTop: string;
  /** The hash that the migrated file must have, if it is known. */
  readonly expectedHash?: string;
  /** Whether a move does not remove the source. */
  readonly keepsSource?: boolean;
}

export interface PlannedSession {
  readonly sessionId: string;
  readonly root: string;
  readonly destinationRoot: string;
  readonly source: string;
  readonly destination: string;
  /** The main transcript comes last, so that the session is listed only when it is complete. */
  readonly files: readonly PlannedFile[];
  /** Pipes, sockets and devices, which are not migrated. */
  readonly others: readonly string[];
}

export interface SessionPlace {
  readonly file: DataFile;
  readonly agents: readonly DataFile[];
  /** The `slug` values of the session's lines. Plan files have these names. */
  readonly slugs: readonly string[];
  readonly source: string;
  readonly destination: string;
  readonly destinationRoot: string;
}

export function planSession(place: SessionPlace): PlannedSession {
  const { file, agents, source, destination, destinationRoot } = place;
  const { root, sessionId = "" } = file;
  const fromFolder = dirname(file.path);
  const toFolder = join(destinationRoot, "projects", encodeProjectPath(destination));
  const mappings = mappingsOf(place, fromFolder, toFolder);
  const planned: PlannedFile[] = [];
  const others: string[] = [];
  const add = (from: string, to: string, tops: { fromTop: string; toTop: string }, change: Change): void => {
    const stat = lstatSync(from);
    const link = stat.isSymbolicLink() ? readlinkSync(from) : null;
    planned.push({
      from,
      to,
      change: link === null ? change : { kind: "none" },
      size: stat.size,
      mtimeMs: stat.mtimeMs,
      inode: stat.ino,
      mode: stat.mode & 0o777,
      link,
      ...tops,
    });
  };
  const tops = { fromTop: fromFolder, toTop: toFolder };
  const beside = filesBelow(join(fromFolder, sessionId));
  others.push(...beside.others);
  for (const path of beside.files)
    add(path, join(toFolder, relative(fromFolder, path)), tops, changeOf(path, mappings));
  for (const agent of agents) {
    if (agent.layout === "legacy")
      add(agent.path, join(toFolder, basename(agent.path)), tops, changeOf(agent.path, mappings));
  }
  if (destinationRoot !== root) {
    // These files are stored per session, not per project, so within one data directory they are not moved.
    for (const path of ofSession(root, sessionId, place.slugs)) {
      const top = relative(root, path).split(/[\\/]/, 1)[0] ?? "";
      const places = { fromTop: join(root, top), toTop: join(destinationRoot, top) };
      add(path, join(destinationRoot, relative(root, path)), places, { kind: "none" });
    }
  }
  add(file.path, join(toFolder, basename(file.path)), tops, changeOf(file.path, mappings));
  return { sessionId, root, destinationRoot, source, destination, files: planned, others };
}

/** Plans the migration of a project's memory, which belongs to no session. */
export function planMemory(options: {
  fromFolder: string;
  root: string;
  destinationRoot: string;
  source: string;
  destination: string;
}): PlannedSession | undefined {
  const { fromFolder, root, destinationRoot, source, destination } = options;
  const toFolder = join(destinationRoot, "projects", encodeProjectPath(destination));
  const { files, others } = filesBelow(join(fromFolder, "memory"));
  if (files.length === 0 || fromFolder === toFolder) return undefined;
  const planned = files.map((from): PlannedFile => {
    const { size, mtimeMs, ino, mode } = lstatSync(from);
    const link = lstatSync(from).isSymbolicLink() ? readlinkSync(from) : null;
    const to = join(toFolder, relative(fromFolder, from));
    return {
      from,
      to,
      change: { kind: "none" },
      size,
      mtimeMs,
      inode: ino,
      mode: mode & 0o777,
      link,
      fromTop: fromFolder,
      toTop: toFolder,
    };
  });
  return { sessionId: "memory", root, destinationRoot, source, destination, files: planned, others };
}

/**
 * Returns the path mappings of the project, and of the session's files in the data directory. The longest path comes
 * first.
 */
function mappingsOf(
  { file, source, destination, destinationRoot }: SessionPlace,
  fromFolder: string,
  toFolder: string,
): readonly PathMapping[] {
  const { root, sessionId = "" } = file;
  const mappings = [
    { from: source, to: destination },
    { from: join(fromFolder, sessionId), to: join(toFolder, sessionId) },
    { from: file.path, to: join(toFolder, basename(file.path)) },
    ...(destinationRoot === root
      ? []
      : [{ from: join(root, "file-history", sessionId), to: join(destinationRoot, "file-history", sessionId) }]),
  ];
  return mappings.filter(({ from, to }) => from !== "" && from !== to).sort((a, b) => b.from.length - a.from.length);
}

function changeOf(path: string, mappings: readonly PathMapping[]): Change {
  if (path.endsWith(".jsonl")) return { kind: "lines", mappings };
  // Workflow files contain paths of scripts. Other files of a session are text, and are not changed.
  return /[\\/]workflows[\\/][^\\/]+\.json$/.test(path) ? { kind: "json", mappings } : { kind: "none" };
}

function ofSession(root: string, sessionId: string, slugs: readonly string[]): readonly string[] {
  const todos = filesBelow(join(root, "todos")).files.filter((path) =>
    basename(path).startsWith(`${sessionId}-agent-`),
  );
  const plans = slugs.filter((slug) => /^[\w-]+$/.test(slug)).map((slug) => join(root, "plans", `${slug}.md`));
  return [
    ...filesBelow(join(root, "file-history", sessionId)).files,
    ...filesBelow(join(root, "tasks", sessionId)).files,
    ...todos,
    ...plans.filter(exists),
  ];
}
