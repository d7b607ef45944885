import { type LibraryConfig, isDataNotFoundError, withSources } from "@skein/history";

/** How often other agents are checked for new events. */
const LOOK_AGAIN_MS = 2000;

/** A configuration that has the sessions of all agents. */
export interface AgentLibrary {
  /** Always the same object; `refresh` changes it. */
  readonly config: LibraryConfig;
  /**
   * Reads new data of other agents, at most every two seconds. With `all`, translates all their sessions to lines now.
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
      // No agent has any data here: the request reports that.
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
