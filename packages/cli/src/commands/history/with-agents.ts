import type { LibraryConfig, SourceName } from "@skein/history";
import { isDataNotFoundError, withSources } from "@skein/history/usage";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { styledText } from "../../terminal/styled.ts";

export type SourceNames = readonly SourceName[] | undefined;

/** The most unreadable files that are listed. Further files are only counted. */
const MOST_NAMED = 5;

interface AgentOptions {
  readonly sources: SourceNames;
  readonly lines: "all" | "as-needed";
  readonly screen?: StyledScreen;
}

/**
 * Adds the sessions of coding agents other than Claude Code to a configuration. Reports unreadable files on the screen,
 * and leaves them out.
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
    // If no agent has data, the command reports this error.
    if (sources === undefined && isDataNotFoundError(error)) return library;
    throw error;
  }
}
