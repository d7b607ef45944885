/** Adds the sessions of other agents to a configuration, so that every function of the library reads them. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder, type LibraryConfig } from "../config.ts";
import { DataNotFoundError } from "../errors.ts";
import { existingRoots } from "./claude-code/discover/discover.ts";
import { openMirror, type Mirror } from "./mirror/mirror-root.ts";
import { isFile, isFolder } from "./port/files.ts";
import { placesHere } from "./port/places.ts";
import { sourceNames, type HistorySource, type Places, type Problem, type SourceName } from "./port/source.ts";
import { otherSources } from "./registry.ts";

export interface SourceOptions extends LibraryConfig {
  /** Where to look; this machine's places if not given. */
  readonly places?: Places;
  /**
   * `all`, the default: the lines of every session are made before this call returns. `as-needed`: only those that a function
   * reads, which a list and the usage mostly do without.
   */
  readonly lines?: "all" | "as-needed";
  /** Is told of sessions that are read for the first time or have changed. */
  readonly onTranslated?: (source: SourceName, done: number, total: number) => void;
}

export interface WithSources {
  readonly config: LibraryConfig;
  /** Places of other agents that could not be read, or not as a whole. */
  readonly problems: readonly (Problem & { readonly source: SourceName })[];
}

/** The same configuration, which reads the sessions of all agents, or of those that were asked for. */
export async function withSources(options: SourceOptions = {}): Promise<WithSources> {
  const { sources, places = placesHere(), lines = "all", onTranslated, ...config } = options;
  const wanted = new Set(sources ?? sourceNames);
  const claude = wanted.has("claude-code") || (wanted.has("claude-desktop") && sources === undefined);
  const roots = rootsOf(config, wanted, places, sources?.length === 1 ? sources[0] : undefined);
  const problems: (Problem & { source: SourceName })[] = [];
  const mirrors = new Map<string, Mirror>();
  for (const { source, path } of roots.others) {
    const mirror = openMirror({ source, root: path, folder: mirrorFolder(config, source.name, path) });
    const onProgress = onTranslated && ((done: number, total: number) => onTranslated(source.name, done, total));
    if (lines === "all") await mirror.translate(undefined, { signal: config.signal, onProgress });
    problems.push(...mirror.problems.map((problem) => ({ ...problem, source: source.name })));
    if (mirror.units.length + mirror.kept.size + mirror.problems.length > 0) mirrors.set(mirror.folder, mirror);
  }
  if (mirrors.size === 0 && claude) {
    // Without any data the usual places stay, so that an error names them.
    const isUsual = roots.claude !== undefined || config.dataPath === undefined;
    return { config: isUsual ? config : { ...config, dataPath: [] }, problems };
  }
  const dataPath = [...(claude ? (roots.claude ?? []) : []), ...mirrors.keys()];
  if (dataPath.length === 0) throw new DataNotFoundError(roots.looked[0] ?? "");
  return { config: { ...config, dataPath, mirrors }, problems };
}

interface Roots {
  /** Claude Code's own; undefined if it has none. */
  readonly claude: readonly string[] | undefined;
  readonly others: readonly { readonly source: HistorySource; readonly path: string }[];
  readonly looked: readonly string[];
}

/** A given path is recognised by its form, unless its agent is named. */
function rootsOf(
  config: LibraryConfig,
  wanted: ReadonlySet<SourceName>,
  places: Places,
  only: SourceName | undefined,
): Roots {
  const sources = otherSources.filter(({ name }) => wanted.has(name));
  if (config.dataPath === undefined) {
    const others = sources.flatMap((source) => source.roots(places).map((path) => ({ source, path })));
    const there = others.filter(({ path }) => isFolder(path) || isFile(path));
    return { claude: orNone(() => existingRoots(config)), others: there, looked: others.map(({ path }) => path) };
  }
  const given = typeof config.dataPath === "string" ? [config.dataPath] : config.dataPath;
  const others = given.flatMap((path) => {
    const source = only && only !== "claude-code" ? sources[0] : recognise(path);
    return source && wanted.has(source.name) ? [{ source, path }] : [];
  });
  const rest = given.filter((path) => !others.some((other) => other.path === path));
  const claude =
    rest.length > 0 && wanted.has("claude-code") ? existingRoots({ ...config, dataPath: rest }) : undefined;
  return { claude, others, looked: given };
}

/** The agent of this data, by its form; undefined for Claude Code's and for unknown data. */
function recognise(path: string): HistorySource | undefined {
  return otherSources.find((source) => source.owns(path));
}

/** The name of the source whose data this is; Claude Code if it has no other's shape. */
export function recogniseSource(path: string): SourceName {
  return recognise(path)?.name ?? "claude-code";
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
  // As `existingRoots` names it.
  return join(realpathSync(cache), "agents", `${name}-${createHash("sha256").update(root).digest("hex").slice(0, 16)}`);
}

let temporary: string | undefined;

/** Without a cache the translated sessions last as long as the process. */
function temporaryFolder(): string {
  if (temporary !== undefined) return temporary;
  removeAbandoned();
  const made = mkdtempSync(join(tmpdir(), `skein-agents-${process.pid}-`));
  process.once("exit", () => rmSync(made, { recursive: true, force: true }));
  temporary = made;
  return made;
}

/** Removes the folders of processes that were killed. */
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
