import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { abandonedSessions } from "@skein/adapters/runtimes/claude-code";
import type { Store } from "@skein/core";

/**
 * How often the server searches for files of deleted sessions. Sessions may be deleted while this server is off, or by
 * another server.
 */
const SWEEP_MS = 3600 * 1000;

export interface AbandonedFilesDeps {
  /** The folder of Claude Code's files, with a folder for each tenant. */
  readonly folder: string;
  readonly store: Store;
  readonly remove: (session: { readonly tenant: string; readonly sessionId: string }) => Promise<void>;
  readonly report: (error: unknown) => void;
}

/**
 * Removes files of deleted sessions now and every hour, because killed servers leave such files. Returns a function
 * that stops the search.
 */
export function sweepAbandonedFiles({ folder, store, remove, report }: AbandonedFilesDeps): () => void {
  async function sweep(): Promise<void> {
    for (const tenant of existsSync(folder) ? readdirSync(folder) : [])
      for (const sessionId of abandonedSessions(join(folder, tenant, "config"), Date.now()))
        if (!(await store.get(sessionId, { tenant }))) await remove({ tenant, sessionId });
  }
  const timer = setInterval(() => void sweep().catch(report), SWEEP_MS).unref();
  void sweep().catch(report);
  return () => clearInterval(timer);
}
