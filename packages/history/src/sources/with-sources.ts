/** Adds the sessions of other coding agents to a configuration, so that every function of the library reads them. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve, sep } from "node:path";
import { cacheFolder, type LibraryConfig } from "../config.ts";
import { DataNotFoundError } from "../errors.ts";
import { claudeCode } from "./claude-code/claude-code.ts";
import { claudeDesktop } from "./claude-desktop/claude-desktop.ts";
import type { Mirror } from "./mirror/mirror-root.ts";
import { entriesIn, isFile, isFolder } from "./port/files.ts";
import { placesHere } from "./port/places.ts";
import {
  agentTitles,
  sourceNames,
  type HistorySource,
  type Places,
  type Problem,
  type SourceName,
} from "./port/source.ts";

export interface SourceOptions extends LibraryConfig {
  /** The environment and home directories to search. Default: those of this machine. */
  readonly places?: Places;
  /**
   * Default: `all`, which translates every session before this call returns. `as-needed` translates only sessions that
   * a function reads. Lists and usage usually need no translation.
   */
  readonly lines?: "all" | "as-needed";
  /** Called with the progress of translating new and changed sessions. */
  readonly onTranslated?: (source: SourceName, done: number, total: number) => void;
}

export interface WithSources {
  readonly config: LibraryConfig;
  /** Paths of other agents that could not be read completely. */
  readonly problems: readonly (Problem & { readonly source: SourceName })[];
}

/** Returns a configuration that also reads the sessions of other agents, or only of the requested agents. */
export async function withSources(options: SourceOptions = {}): Promise<WithSources> {
  const { sources: asked, places = placesHere(), lines = "all", onTranslated, ...config } = options;
  const wanted = new Set(asked ?? sourceNames);
  // Some transcripts in Claude Code's folder belong to sessions of Claude Desktop. They never count as sessions of
  // Claude Code, even if only Claude Code is requested.
  const alsoOpened = wanted.has("claude-code") && !wanted.has("claude-desktop") && config.dataPath === undefined;
  const opened = alsoOpened ? new Set([...wanted, "claude-desktop" as const]) : wanted;
  const { found, looked, unread } = await rootsOf(config, opened, places, asked?.length === 1 ? asked[0] : undefined);
  const problems: (Problem & { source: SourceName })[] = [];
  for (const { source, path, isGuess } of found)
    if (isGuess) problems.push({ source: source.name, path, message: `${UNKNOWN}${await dataBelow(path)}` });
  problems.push(...unread.filter(({ source }) => wanted.has(source)));
  const inPlace = new Set<string>();
  const mirrors = new Map<string, Mirror>();
  for (const { source, path, isGone } of found) {
    if (source.reads === "in-place") {
      inPlace.add(realpathSync(path));
      continue;
    }
    const { openMirror } = await import("./mirror/mirror-root.ts");
    const folder = mirrorFolder(config, source.name, path);
    const read = isGone ? { ...source, units: () => ({ units: [], problems: [] }) } : source;
    const mirror = openMirror({ source: read, root: path, folder });
    const onProgress = onTranslated && ((done: number, total: number) => onTranslated(source.name, done, total));
    const isWanted = wanted.has(source.name);
    if (lines === "all" && isWanted) await mirror.translate(undefined, { signal: config.signal, onProgress });
    if (isWanted) problems.push(...mirror.problems.map((problem) => ({ ...problem, source: source.name })));
    // An empty mirror stays a root if it existed before, because the archive may have its sessions.
    const isKnown = mirror.units.length + mirror.kept.size + mirror.problems.length > 0 || existsSync(mirror.folder);
    if (isKnown) mirrors.set(mirror.folder, mirror);
  }
  const dataPath = [...inPlace, ...mirrors.keys()];
  const isAny = alsoOpened ? found.some(({ source }) => wanted.has(source.name)) : dataPath.length > 0;
  const shown = alsoOpened && { sources: [...wanted] };
  if (isAny) return { config: { ...config, dataPath, ...(mirrors.size > 0 && { mirrors }), ...shown }, problems };
  if (!wanted.has("claude-code")) throw new DataNotFoundError(looked[0] ?? "", noDataOf([...wanted]));
  // If no data exists, the default paths stay, so that an error contains them.
  return { config: config.dataPath === undefined ? config : { ...config, dataPath: [] }, problems };
}

const registry = async () => await import("./registry.ts");

const UNKNOWN = "it does not look like the data of a known agent, so it is read as Claude Code's";

/** The number of folders below a path that are checked, and the number of suggestions. */
const MOST_LOOKED_AT = 200;
const MOST_SUGGESTED = 3;

/** Suggests folders below a path that look like the data of an agent. A person may have given the parent folder. */
async function dataBelow(path: string): Promise<string> {
  const { ownerOf } = await registry();
  const folders = entriesIn(path)
    .map(({ name }) => join(path, name))
    .filter((folder) => isFolder(folder));
  const suggested = folders.slice(0, MOST_LOOKED_AT).flatMap((folder) => {
    const owner = ownerOf(folder);
    return owner ? [`${folder} (${agentTitles[owner.name]})`] : [];
  });
  return suggested.length === 0 ? "" : `. Did you mean ${suggested.slice(0, MOST_SUGGESTED).join(" or ")}?`;
}

function noDataOf(names: readonly SourceName[]): string {
  return `no data of ${names.map((name) => agentTitles[name]).join(" or ")}`;
}

interface Root {
  readonly source: HistorySource;
  readonly path: string;
  /** True if the path does not look like the data of any agent. */
  readonly isGuess?: boolean;
  /** True if the agent's data existed before and was deleted. */
  readonly isGone?: boolean;
}

interface Roots {
  readonly found: readonly Root[];
  readonly looked: readonly string[];
  /** Paths that this user may not read. */
  readonly unread: WithSources["problems"];
}

/** Returns the roots. If the agent of a given path is not requested by name, the layout of the path decides. */
async function rootsOf(
  config: LibraryConfig,
  wanted: ReadonlySet<SourceName>,
  places: Places,
  only: SourceName | undefined,
): Promise<Roots> {
  if (config.dataPath === undefined) {
    const { sources } = await registry();
    const chosen = sources.filter(({ name }) => wanted.has(name));
    const all = chosen.flatMap((source) => source.roots(places).map((path) => ({ source, path })));
    const unread: (Problem & { source: SourceName })[] = [];
    const found = all.flatMap(({ source, path }): Root[] => {
      const problems: Problem[] = [];
      if (isFolder(path, problems) || (source.reads === "translated" && isFile(path))) return [{ source, path }];
      unread.push(...problems.map((problem) => ({ ...problem, source: source.name })));
      const isGone = problems.length === 0 && wasTranslated(config, source.name, path);
      return isGone ? [{ source, path, isGone }] : [];
    });
    return { found: eachOnce(found), looked: all.map(({ path }) => path), unread };
  }
  const given = (typeof config.dataPath === "string" ? [config.dataPath] : config.dataPath).map((path) =>
    resolve(path),
  );
  const named = only === undefined ? undefined : (await registry()).sources.find(({ name }) => name === only);
  // The two most frequent sources are tried first. If they own all paths, the other sources are not loaded.
  const own = given.map((path) => [claudeDesktop, claudeCode].find((source) => source.owns(path)));
  const ownerOf = named || own.every(Boolean) ? () => claudeCode : (await registry()).ownerOf;
  const found = given
    .map((path, at): Root => {
      const source = named ?? own[at] ?? ownerOf(path);
      return source ? { source, path } : { source: claudeCode, path, isGuess: true };
    })
    .filter(({ source }) => wanted.has(source.name));
  const missing = found.find(({ source, path }) => source.reads === "in-place" && !isFolder(path));
  if (missing) throw new DataNotFoundError(missing.path, named ? noDataOf([named.name]) : "no data of a coding agent");
  return { found: eachOnce(found), looked: given, unread: [] };
}

/**
 * Returns each root once, even if several paths lead to it. Leaves out a root inside another root of the same agent if
 * the outer root contains all its sessions.
 */
function eachOnce(roots: readonly Root[]): readonly Root[] {
  const real = (path: string): string => orNone(() => realpathSync(path)) ?? path;
  const byPlace = new Map(roots.toReversed().map((root) => [`${root.source.name}\0${real(root.path)}`, root]));
  const once = roots.filter((root) => byPlace.get(`${root.source.name}\0${real(root.path)}`) === root);
  return once.filter((inner) => {
    const outer = once.find(
      (root) => root.source === inner.source && real(inner.path).startsWith(`${real(root.path)}${sep}`),
    );
    return outer === undefined || !hasAllOf(outer, inner);
  });
}

function hasAllOf(outer: Root, inner: Root): boolean {
  const { source } = inner;
  if (source.reads === "in-place") return false;
  const unitsOf = ({ path }: Root): readonly string[] =>
    orNone(() => source.units(path).units.map((unit) => `${unit.id}\0${realpathSync(unit.path)}`)) ?? [];
  const all = new Set(unitsOf(outer));
  return unitsOf(inner).every((unit) => all.has(unit));
}

function orNone<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function mirrorFolder(config: LibraryConfig, name: SourceName, root: string): string {
  const cache = cacheFolder(config) ?? temporaryFolder();
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  // Symbolic links in the path are resolved, because `existingRoots` resolves them too.
  return join(realpathSync(cache), "agents", `${name}-${createHash("sha256").update(root).digest("hex").slice(0, 16)}`);
}

/** Returns true if an earlier call translated this root. */
function wasTranslated(config: LibraryConfig, name: SourceName, root: string): boolean {
  const cache = cacheFolder(config);
  return cache !== null && existsSync(cache) && existsSync(mirrorFolder(config, name, root));
}

let temporary: string | undefined;

/** Returns a folder that is used if no cache folder is configured. It is removed when the process ends. */
function temporaryFolder(): string {
  if (temporary !== undefined) return temporary;
  removeAbandoned();
  const made = mkdtempSync(join(tmpdir(), `skein-agents-${process.pid}-`));
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  temporary = made;
  return made;
}

/** Removes temporary folders of killed processes. */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = /^skein-agents-(\d+)-/.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      orNone(() => rmSync(join(tmpdir(), name), { recursive: true, force: true }));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
