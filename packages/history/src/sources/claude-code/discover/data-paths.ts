/** Where Claude Code keeps its data. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { LibraryConfig } from "../../../config.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the data directory that Claude Code would use. */
export function getDefaultDataPath(environment: Environment = process.env): string {
  const given = environment["CLAUDE_CONFIG_DIR"];
  if (given !== undefined && given.trim() !== "") return (given.split(",")[0] ?? given).trim().normalize("NFC");
  return join(homedir(), ".claude");
}

export function getProjectsPath(dataPath: string): string {
  return join(dataPath, "projects");
}

/** Returns the data directories to read: `dataPath`, or CLAUDE_CONFIG_DIR, or the default directories. */
export function dataPaths(config: LibraryConfig, environment: Environment = process.env): readonly DataPath[] {
  const { dataPath } = config;
  if (dataPath !== undefined) {
    return (typeof dataPath === "string" ? [dataPath] : dataPath).map((path) => ({ path, expected: true }));
  }
  return usualDataPaths(environment, [homedir()]);
}

/**
 * Returns the data directories in CLAUDE_CONFIG_DIR. If it is not set, returns the default directories of every home
 * folder.
 */
export function usualDataPaths(environment: Environment, homes: readonly string[]): readonly DataPath[] {
  const given = environment["CLAUDE_CONFIG_DIR"];
  if (given !== undefined && given.trim() !== "") {
    return given.split(",").map((path) => ({ path: path.trim().normalize("NFC"), expected: true }));
  }
  return homes.flatMap((home) => [
    { path: join(home, ".claude"), expected: true },
    // Claude Code 1.0.28 to 1.0.30 wrote here, and the files may still exist.
    { path: join(home, ".config", "claude"), expected: false },
  ]);
}

export interface DataPath {
  readonly path: string;
  /** False for a folder that few installations have. A missing folder is an error only if the caller set `dataPath`. */
  readonly expected: boolean;
}
