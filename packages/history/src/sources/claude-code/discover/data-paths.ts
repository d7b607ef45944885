/** Where Claude Code keeps its data. Only this file and config.ts read environment variables. */
import { homedir } from "node:os";
import { join } from "node:path";
import type { LibraryConfig } from "../../../config.ts";

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

/** The data directories to read: those given, those in CLAUDE_CONFIG_DIR, or the default ones. */
export function dataPaths(config: LibraryConfig, environment: Environment = process.env): readonly DataPath[] {
  const { dataPath } = config;
  if (dataPath !== undefined) {
    return (typeof dataPath === "string" ? [dataPath] : dataPath).map((path) => ({ path, expected: true }));
  }
  return usualDataPaths(environment, [homedir()]);
}

/** The data directories in CLAUDE_CONFIG_DIR; otherwise the default ones of every home folder. */
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
  /** Whether it is an error if the directory does not exist. */
  readonly expected: boolean;
}
