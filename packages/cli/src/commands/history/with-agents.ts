import type { LibraryConfig, SourceName } from "@skein/history";
import { isDataNotFoundError, withSources } from "@skein/history/usage";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { styledText } from "../../terminal/styled.ts";

export type SourceNames = readonly SourceName[] | undefined;

/** How many unreadable files are named. The others are only counted. */
const MOST_NAMED = 5;

interface AgentOptions {
  readonly sources: SourceNames;
  readonly lines: "all" | "as-needed";
  readonly screen?: StyledScreen;
}

/**
 * Adds the sessions of other agents to a configuration. Files that cannot be read are reported on the screen, and the
 * rest is shown.
 */
export async function withAgents(
  library: LibraryConfig,
  { sources, lines, screen }: AgentOptions,
): Promise<LibraryConfig> {
  try {
    const { config, problems } = await withSources({
      ...library,
      sources,
      lines,
      onTranslated: (source, done, total) => {
        if (done % 20 === 0 || done === total)
          screen?.progress(styledText`Reading ${source}: ${done} of ${total} sessions`);
      },
    });
    screen?.progress(undefined);
    for (const { source, path, message } of problems.slice(0, MOST_NAMED))
      screen?.note(styledText`${source}: ${path}: ${message}`);
    if (problems.length > MOST_NAMED)
      screen?.note(styledText`and ${problems.length - MOST_NAMED} more that could not be read`);
    return config;
  } catch (error) {
    // If there is no data at all, the command itself reports that.
    if (sources === undefined && isDataNotFoundError(error)) return library;
    throw error;
  }
}
