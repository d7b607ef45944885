import { setTimeout as delay } from "node:timers/promises";
import type { FileStore } from "../ports/file-store.ts";
import type { Store } from "../ports/store.ts";

/** A file is written before the event that names it, so that a session may be about to begin. It has so long for it. */
const GRACE_MS = 60_000;

/**
 * Sessions that have files and are not in the store: deleted while the place of files was away, or never begun because a
 * process ended between the two. Each is looked for twice, some time apart.
 */
export async function orphanedFiles(
  store: Pick<Store, "get">,
  files: FileStore,
  { graceMs = GRACE_MS } = {},
): Promise<readonly string[]> {
  const missing: string[] = [];
  for await (const sessionId of files.sessions?.() ?? []) if (!(await store.get(sessionId))) missing.push(sessionId);
  if (missing.length === 0) return [];
  await delay(graceMs);
  const orphans: string[] = [];
  for (const sessionId of missing) if (!(await store.get(sessionId))) orphans.push(sessionId);
  return orphans;
}
