import type { Session } from "@skein/protocol";
import type { Database } from "./database.ts";
import { toSession } from "./rows.ts";

/**
 * Keeps sessions as they were last read. A session is the same object until it changes, so that callers can cache data
 * that they derive from it.
 */
export interface SessionCache {
  /** Returns all these sessions, or undefined if a session is missing in the cache. */
  get(ids: readonly string[]): readonly Session[] | undefined;
  /** Returns a page that was read before, unless something was written since then. */
  page(key: string): SessionPage | undefined;
  keepPage(key: string, page: SessionPage): void;
  /** Caches the session of a row that was just read, and returns it. */
  keep(row: Readonly<Record<string, unknown>>): Session;
  /** Called when this store changes the session. */
  forget(sessionId: string): void;
  /**
   * Called after a write of this store. Other stores of this process then check for changes again, even in the same
   * turn of the event loop.
   */
  wrote(): void;
}

export interface SessionPage {
  readonly items: readonly Session[];
  readonly cursor: string | null;
}

/** Increases with every write of this process and with every turn of the event loop in which something was read. */
let turn = 0;

const KEPT = 2000;
const KEPT_PAGES = 20;
/** Rows with longer metadata are not cached, because they would fill the memory. */
const METADATA_LENGTH = 4000;

export function createSessionCache(db: Database): SessionCache {
  const kept = new Map<string, Session>();
  const pages = new Map<string, SessionPage>();
  let seen: unknown;
  let looked = -1;

  /**
   * Forgets all sessions if another process has written. It checks once per turn of the event loop. The requests of a
   * turn were sent before the turn began, so they need not see later writes.
   */
  function look(): void {
    if (looked === turn) return;
    looked = turn;
    setImmediate(() => (turn += 1));
    // Only another connection's commits change this number. It does not say which rows changed.
    const version = db.get("pragma data_version")?.["data_version"];
    if (version !== seen) {
      kept.clear();
      pages.clear();
    }
    seen = version;
  }

  return {
    get(ids) {
      look();
      const found: Session[] = [];
      for (const id of ids) {
        const session = kept.get(id);
        if (!session) return undefined;
        found.push(session);
      }
      return found;
    },
    page(key) {
      look();
      return pages.get(key);
    },
    keepPage(key, page) {
      // A page is cached only if all its sessions are cached.
      if (!page.items.every(({ id }) => kept.has(id))) return;
      if (pages.size >= KEPT_PAGES) pages.clear();
      pages.set(key, page);
    },
    keep(row) {
      const session = toSession(row);
      if ((row["metadata"] as string).length > METADATA_LENGTH) return session;
      const oldest = kept.size >= KEPT ? kept.keys().next().value : undefined;
      if (oldest !== undefined) kept.delete(oldest);
      kept.set(session.id, Object.freeze(session));
      return session;
    },
    forget(sessionId) {
      kept.delete(sessionId);
      pages.clear();
    },
    wrote: () => void (turn += 1),
  };
}
