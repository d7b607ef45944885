import { join } from "node:path";
import { adopt, readClaudeSession } from "@skein/adapters/runtimes/claude-code/adopt";
import type { Store } from "@skein/core";
import { getSession, isDataNotFoundError, listSessions, withCarried } from "@skein/history";
import { KnownError } from "@skein/protocol";
import type { HistoryPort } from "@skein/server";
import { followAgents } from "./follow-agents.ts";
import { createReaderThread } from "./reader-thread.ts";
import { ofSource } from "./source-filter.ts";

export interface HistoryOptions {
  readonly store: Store;
  readonly dataDir: string;
  /** Claude Code's data directories. If undefined, the user's default directories are used. */
  readonly roots: readonly string[] | undefined;
  readonly keys: readonly string[];
}

/**
 * The most bytes of a transcript that a request can adopt. `skein adopt` has no limit, because it runs in a separate
 * process.
 */
const LARGEST_ADOPTED = 128 * 1024 * 1024;

/** Reads the sessions of Claude Code and of other coding agents in a separate thread. */
export function createHistory({
  store,
  dataDir,
  roots,
  keys,
}: HistoryOptions): HistoryPort & { close(): Promise<void> } {
  const cacheFolder = join(dataDir, "cache", "history");
  const thread = createReaderThread({ roots, cacheFolder });
  const library = followAgents({ cacheFolder, ...(roots && { dataPath: roots }) });
  const text = thread.ask as (...asked: Parameters<typeof thread.ask>) => Promise<string>;
  const bytes = thread.ask as (...asked: Parameters<typeof thread.ask>) => Promise<Uint8Array>;
  return {
    keys,
    roots: roots ?? [],
    list: (query, signal) => text("list", [query], signal),
    get: (session, signal) => text("get", [session], signal),
    messages: (session, query, signal) => text("messages", [session, query], signal),
    line: (session, place, signal) => bytes("line", [session, place], signal),
    search: (query, signal) => text("search", [query], signal),
    usage: (query, signal) => text("usage", [query], signal),
    files: (session, signal) => text("files", [session], signal),
    file: (session, version, signal) => bytes("file", [session, version], signal),
    export: (session, format, signal) => bytes("export", [session, format], signal),
    async adopt({ id: sessionId, source }, { tenant, folderFor }) {
      const config = { ...(await library.refresh()), ...ofSource(source) };
      const { data } = await listSessions({ ...config, limit: Infinity }).catch((error: unknown) => {
        if (isDataNotFoundError(error)) return { data: [] };
        throw error;
      });
      const found = data.find(({ id }) => id === sessionId);
      if (!found) throw new KnownError("not_found", "There is no such session.");
      if (found.sizeBytes > LARGEST_ADOPTED)
        throw new KnownError(
          "too_large",
          `This session has ${Math.ceil(found.sizeBytes / 1e6)} MB. Adopt it with \`skein adopt ${sessionId}\`.`,
        );
      return withCarried(await getSession(sessionId, config), async ({ session: carried }) => {
        const session = readClaudeSession(carried);
        const folder = session.cwd === null ? null : await folderFor(session.cwd, session.id);
        return await adopt(session, { store, tenant, folder });
      });
    },
    watch: (listener) => thread.watch(({ sessionId, change }) => listener({ session_id: sessionId, change })),
    close: () => thread.close(),
  };
}
