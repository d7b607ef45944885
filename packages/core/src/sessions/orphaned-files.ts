import type { FileStore } from "../ports/file-store.ts";
import type { Store } from "../ports/store.ts";

/**
 * Lists sessions that have files but are not in the store. Such files stay if the file store was unavailable when their
 * session was deleted, or if a process crashed before the first event of a session was stored. The store is asked
 * twice, because a new session stores its files before its first event.
 */
export async function orphanedFiles(
  store: Pick<Store, "get">,
  files: FileStore,
  waitLonger: () => Promise<void>,
): Promise<readonly string[]> {
  const missing: string[] = [];
  for await (const sessionId of files.sessions?.() ?? []) if (!(await store.get(sessionId))) missing.push(sessionId);
  if (missing.length === 0) return [];
  await waitLonger();
  const orphans: string[] = [];
  for (const sessionId of missing) if (!(await store.get(sessionId))) orphans.push(sessionId);
  return orphans;
}
