/** What every function of the library takes, and its defaults. The only file that looks at the environment. */
import { homedir } from "node:os";
import { join } from "node:path";

export interface LibraryConfig {
  /** Claude Code's data directory, or several of them. Found by itself if not given. */
  readonly dataPath?: string | readonly string[];
  /** Only sessions of this project path. */
  readonly workspace?: string;
  /** At most so many results; 50 if not given. `Infinity` means all. */
  readonly limit?: number;
  /** Skip so many results; 0 if not given. */
  readonly offset?: number;
  /** Lines of context around a match; 2 if not given. */
  readonly context?: number;
  /** Only what happened at or after this time. */
  readonly since?: Date;
  /** Only what happened before this time. */
  readonly until?: Date;
  /** Skein's own folder for the index; `null` works without one. Never inside a data directory. */
  readonly cacheFolder?: string | null;
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
    throw new RangeError(`${name} must be a whole number that is not negative, not ${value}`);
  }
  return page;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The data directory that Claude Code itself would use. */
export function getDefaultDataPath(environment: Environment = process.env): string {
  const given = environment["CLAUDE_CONFIG_DIR"];
  if (given !== undefined && given.trim() !== "") return (given.split(",")[0] ?? given).trim().normalize("NFC");
  return join(homedir(), ".claude");
}

export function getProjectsPath(dataPath: string): string {
  return join(dataPath, "projects");
}

/** Every place to look at: those given, those of the environment, or the usual ones, old and new. */
export function dataPaths(config: LibraryConfig, environment: Environment = process.env): readonly DataPath[] {
  const { dataPath } = config;
  if (dataPath !== undefined) {
    return (typeof dataPath === "string" ? [dataPath] : dataPath).map((path) => ({ path, expected: true }));
  }
  const given = environment["CLAUDE_CONFIG_DIR"];
  if (given !== undefined && given.trim() !== "") {
    return given.split(",").map((path) => ({ path: path.trim().normalize("NFC"), expected: true }));
  }
  return [
    { path: join(homedir(), ".claude"), expected: true },
    // Used by 1.0.28 to 1.0.30 only; what was written then still lies there.
    { path: join(homedir(), ".config", "claude"), expected: false },
  ];
}

export interface DataPath {
  readonly path: string;
  /** Its absence is an error. */
  readonly expected: boolean;
}

export function cacheFolder(config: LibraryConfig, environment: Environment = process.env): string | null {
  if (config.cacheFolder !== undefined) return config.cacheFolder;
  const base = environment["SKEIN_CACHE_DIR"];
  if (base) return join(base, "history");
  if (process.platform === "win32" && environment["LOCALAPPDATA"]) {
    return join(environment["LOCALAPPDATA"], "skein", "Cache", "history");
  }
  return join(environment["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "skein", "history");
}
