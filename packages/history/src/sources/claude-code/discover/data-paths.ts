/** Where Claude Code keeps its data. This file and config.ts are the only ones that read environment variables. */
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
