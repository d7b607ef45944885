import { buildIndex, listSessions } from "@skein/history";
import type { AgentLibrary } from "./follow-agents.ts";

/**
 * The shortest time between two updates of the index. Between updates, a search reads changed files without the index.
 */
const INDEX_AGAIN_MS = 30_000;

/**
 * Indexes the transcripts in the background. Without the index, a search gives the same answer, but reads every file.
 */
export function keepIndexed(library: AgentLibrary): { soon(): void } {
  let endedAt = -Infinity;
  let isIndexing = false;

  async function index(): Promise<void> {
    isIndexing = true;
    try {
      const config = await library.refresh("all");
      await buildIndex(config);
      // Claude Code once wrote titles into the files of other sessions. Listing all sessions finds and remembers these
      // titles.
      await listSessions({ ...config, limit: Infinity });
    } catch {
      // A folder may be missing, or the disk may be full. The next request updates the index again.
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
