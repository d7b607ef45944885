/** The configuration of every function of the library, and its defaults. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { Mirror } from "./sources/mirror/mirror-root.ts";
import type { Titles } from "./sources/claude-code/details/title.ts";
import type { SourceName } from "./sources/port/source.ts";

export interface LibraryConfig {
  /**
   * A data directory of Claude Code or another agent, or several of them. If not given, the default places are
   * searched.
   */
  readonly dataPath?: string | readonly string[];
  /** Only sessions of this project path. */
  readonly workspace?: string;
  /** Only sessions of these coding agents. Default: all coding agents with data in `dataPath`. */
  readonly sources?: readonly SourceName[] | undefined;
  /** The largest number of results; 50 if not given. `Infinity` means all. */
  readonly limit?: number;
  /** How many results to skip; 0 if not given. */
  readonly offset?: number;
  /** Lines of context around a match; 2 if not given. */
  readonly context?: number;
  /** Only what happened at or after this time. */
  readonly since?: Date;
  /** Only what happened before this time. */
  readonly until?: Date;
  /** Skein's folder for the index. It must not be inside a data directory. `null` means no index. */
  readonly cacheFolder?: string | null;
  /** The sessions of agents other than Claude Code, by data directory. `withSources` sets this field. */
  readonly mirrors?: ReadonlyMap<string, Mirror>;
  /** The folders of `dataPath` with sessions that only the archive still has. `withArchive` sets this field. */
  readonly archived?: readonly string[];
  /** Keeps titles between calls, for a long-running process. `createTitles` makes this object. */
  readonly titles?: Titles;
  readonly signal?: AbortSignal;
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
  readonly context: number;
}

export const defaultPage: Page = { limit: 50, offset: 0, context: 2 };

export function pageOf(config: LibraryConfig): Page {
  const page = {
    limit: config.limit ?? defaultPage.limit,
    offset: config.offset ?? defaultPage.offset,
    context: config.context ?? defaultPage.context,
  };
  for (const [name, value] of Object.entries(page)) {
    if (value >= 0 && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY)) continue;
    throw new RangeError(`${name} must be a whole number of 0 or more, not ${value}`);
  }
  return page;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function cacheFolder(config: LibraryConfig, environment: Environment = process.env): string | null {
  if (config.cacheFolder !== undefined) return config.cacheFolder;
  const base = environment["SKEIN_CACHE_DIR"];
  if (base) return join(base, "history");
  if (process.platform === "win32" && environment["LOCALAPPDATA"]) {
    return join(environment["LOCALAPPDATA"], "skein", "Cache", "history");
  }
  return join(environment["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "skein", "history");
}
