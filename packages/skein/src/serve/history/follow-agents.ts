import { type LibraryConfig, isDataNotFoundError, withSources } from "@skein/history";

/** The shortest time between two reads of the data of coding agents other than Claude Code. */
const LOOK_AGAIN_MS = 2000;

/** A configuration of the history library that finds the sessions of all coding agents. */
export interface AgentLibrary {
  /** Always the same object; `refresh` changes it. */
  readonly config: LibraryConfig;
  /**
   * Reads new data of coding agents other than Claude Code, at most every two seconds. `all` also translates all their
   * sessions to transcripts in Claude Code's format.
   */
  refresh(lines?: "all" | "as-needed"): Promise<LibraryConfig>;
}

export function followAgents(given: LibraryConfig): AgentLibrary {
  const config: { -readonly [Field in keyof LibraryConfig]: LibraryConfig[Field] } = { ...given };
  let lookedAt = -Infinity;
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    try {
      const { dataPath, mirrors } = (await withSources({ ...given, lines: "as-needed" })).config;
      if (mirrors) config.mirrors = mirrors;
      if (dataPath !== undefined && dataPath.length > 0) config.dataPath = dataPath;
    } catch (error) {
      // No coding agent has data on this machine. The request reports this error.
      if (!isDataNotFoundError(error)) throw error;
    }
    lookedAt = performance.now();
  }

  return {
    config,
    async refresh(lines = "as-needed") {
      if (performance.now() - lookedAt >= LOOK_AGAIN_MS) {
        looking ??= look().finally(() => (looking = undefined));
        await looking;
      }
      if (lines === "all") for (const mirror of config.mirrors?.values() ?? []) await mirror.translate();
      return config;
    },
  };
}
