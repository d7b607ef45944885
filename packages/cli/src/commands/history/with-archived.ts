import type { LibraryConfig } from "@skein/history";
import { withArchive } from "@skein/history/usage";
import { join } from "node:path";
import type { Config } from "skein/config";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { styledText } from "../../terminal/styled.ts";

export function archiveFolder(config: Config): string {
  return join(config.dataDir, "archive");
}

/** Adds the sessions that are only in the archive to a configuration. */
export async function withArchived(
  library: LibraryConfig,
  config: Config,
  screen: StyledScreen,
): Promise<LibraryConfig> {
  try {
    return await withArchive({ ...library, archiveFolder: archiveFolder(config) });
  } catch (error) {
    // If there is no data directory, the command itself reports that. A broken archive must not hide existing sessions.
    if (error instanceof Error && error.name === "DataNotFoundError") return library;
    screen.note(styledText`The archive cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return library;
  }
}
