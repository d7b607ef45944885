import type { LibraryConfig } from "@skein/history";
import { withArchive } from "@skein/history/usage";
import { join } from "node:path";
import type { Config } from "skein/config";
import type { StyledScreen } from "../../terminal/styled-screen.ts";
import { styledText } from "../../terminal/styled.ts";

export function archiveFolder(config: Config): string {
  return join(config.dataDir, "archive");
}

/** Extends a configuration by the sessions that only the archive still has. */
export async function withArchived(
  library: LibraryConfig,
  config: Config,
  screen: StyledScreen,
): Promise<LibraryConfig> {
  try {
    return await withArchive({ ...library, archiveFolder: archiveFolder(config) });
  } catch (error) {
    // If the data directory does not exist, the command reports this error. A broken archive must not hide existing
    // sessions.
    if (error instanceof Error && error.name === "DataNotFoundError") return library;
    screen.note(styledText`The archive cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return library;
  }
}
