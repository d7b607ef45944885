import { type LibraryConfig, type SessionSummary, listSessions } from "@skein/history";

/** How long a list is reused, unless a change was reported. */
const FRESH_MS = 2000;

/** All sessions with their titles, cached because a search by title reads all sessions at every typed letter. */
export interface WholeList {
  /** Returns the sessions within the bounds. `key` identifies the bounds in the cache. */
  of(key: string, bounds: LibraryConfig): Promise<readonly SessionSummary[]>;
  forget(): void;
}

export function createWholeList(): WholeList {
  let known: { readonly key: string; readonly at: number; readonly sessions: readonly SessionSummary[] } | undefined;
  let changes = 0;
  return {
    async of(key, bounds) {
      const at = performance.now();
      if (known?.key === key && at - known.at < FRESH_MS) return known.sessions;
      const before = changes;
      const { data } = await listSessions({ ...bounds, limit: Infinity, offset: 0 });
      if (changes === before) known = { key, at, sessions: data };
      return data;
    },
    forget() {
      changes += 1;
      known = undefined;
    },
  };
}
