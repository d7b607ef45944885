import { buildIndex, listSessions } from "@skein/history";
import type { AgentLibrary } from "./follow-agents.ts";

/** The shortest time between two updates of the index. Newer files are searched without the index. */
const INDEX_AGAIN_MS = 30_000;

/**
 * Makes the index of the transcripts in the background, because a search without it reads every file. Without the index,
 * answers are the same but slower.
 */
export function keepIndexed(library: AgentLibrary): { soon(): void } {
  let endedAt = -Infinity;
  let isIndexing = false;

  async function index(): Promise<void> {
    isIndexing = true;
    try {
      const config = await library.refresh("all");
      await buildIndex(config);
      // Claude Code once wrote titles into the files of other sessions. Listing all sessions finds and remembers these titles.
      await listSessions({ ...config, limit: Infinity });
    } catch {
      // A folder is missing, or the disk is full: the next request tries again.
    } finally {
      isIndexing = false;
      endedAt = performance.now();
    }
  }

  return {
    soon() {
      if (!isIndexing && performance.now() - endedAt >= INDEX_AGAIN_MS) void index();
    },
  };
}
