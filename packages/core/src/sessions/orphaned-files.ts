import type { FileStore } from "../ports/file-store.ts";
import type { Store } from "../ports/store.ts";

/**
 * Sessions that have files and are not in the store: deleted while the file store was unavailable, or never begun
 * because a process crashed. Each is checked twice, because a file is written before the event that names it: its
 * session may be about to begin.
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
