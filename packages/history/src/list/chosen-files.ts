import type { LibraryConfig } from "../config.ts";
import type { DataFile, Discovered } from "../model/data-file.ts";
import { agentsBySession } from "../sources/claude-code/agents/agent-files.ts";
import { discover } from "../sources/discover.ts";
import { withStore } from "../facets/with-store.ts";
import { orderSessions } from "./sessions.ts";

interface ChosenFiles extends Pick<Discovered, "skipped"> {
  /** The transcripts of the chosen sessions and of their subagents; all transcripts if nothing was chosen. */
  readonly files: readonly DataFile[];
  /** True if a project or a time range was given. If so, some sessions may be left out. */
  readonly isPart: boolean;
}

/** Finds the files of the sessions that a list with the same `workspace`, `since` and `until` shows. */
export async function chosenFiles(config: LibraryConfig): Promise<ChosenFiles> {
  const isPart = config.workspace !== undefined || config.since !== undefined || config.until !== undefined;
  if (!isPart) return { ...discover(config), isPart };
  return await withStore(config, async (store) => {
    const { files, discovered } = await orderSessions(config, store);
    const agents = agentsBySession(discovered.files, files);
    const chosen = files.flatMap((file) => [file, ...(agents.get(file) ?? [])]);
    return { files: chosen, skipped: discovered.skipped, isPart };
  });
}
