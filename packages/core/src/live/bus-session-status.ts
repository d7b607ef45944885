import { needsLease } from "@skein/protocol";
import type { Bus } from "../ports/bus.ts";
import { platformStatus } from "../sessions/platform-status.ts";
import type { Store } from "../ports/store.ts";

/** The shortest time between two publications of a session's status. The first change is published at once. */
const SHOW_MS = 1000;
/**
 * A published lock says that a machine drives the session, which means that it runs the session. Locks expire, so the
 * machine publishes the lock again with its first event after this time.
 */
const LOCK_MS = 60_000;

/** How often the sessions with a published lock are checked. */
const LOOK_MS = 5000;

/** Facts after which the session is no longer driven. */
const ENDS: ReadonlySet<string> = new Set(["session.completed", "session.failed", "rewind.completed"]);

/** The Claude API's names of the statuses. */
const STATUS = { pending: "active", running: "active", completed: "completed", failed: "error" } as const;

export interface SessionStatusDeps {
  readonly store: Store;
  readonly bus: Bus;
  readonly now: () => number;
}

/**
 * Publishes the status of the sessions that this machine writes to, so that people who look at the bus see it. Returns
 * a function that stops the publishing.
 */
export function publishSessionStatus({ store, bus, now }: SessionStatusDeps): () => void {
  const resting = new Map<string, { changed: boolean; readonly timer: NodeJS.Timeout }>();
  const lockedAt = new Map<string, number>();
  let showing: Promise<void> = Promise.resolve();

  function showSoon(id: string): void {
    const rest = resting.get(id);
    if (rest) {
      rest.changed = true;
      return;
    }
    showInTurn(id);
    const timer = setTimeout(() => {
      const { changed } = resting.get(id) ?? { changed: false };
      resting.delete(id);
      if (changed) showSoon(id);
    }, SHOW_MS).unref();
    resting.set(id, { changed: false, timer });
  }

  /**
   * Publishes statuses one after another: nobody waits for them, and many reads at once would delay other reads of the
   * store.
   */
  function showInTurn(id: string): void {
    showing = showing.then(() => show(id));
  }

  function unlock(id: string): void {
    if (lockedAt.delete(id)) bus.show({ kind: "unlocked", sessionId: id });
  }

  function forget(id: string): void {
    lockedAt.delete(id);
    bus.show({ kind: "deleted", sessionId: id });
  }

  async function show(id: string): Promise<void> {
    try {
      const session = await store.get(id);
      if (!session) return forget(id);
      if (session.status === "idle") unlock(id);
      const { model, created_at, updated_at: last_activity } = session;
      const status = STATUS[platformStatus(session)];
      bus.show({ kind: "session", session: { id, status, model, created_at, last_activity } });
    } catch {
      // An error of the store is ignored here: requests that need the store report it.
    }
  }

  const stop = store.onNews((sessionId, events) => {
    if (!events) return;
    showSoon(sessionId);
    const last = events.findLast(({ event_type }) => needsLease(event_type));
    if (!last) return;
    if (ENDS.has(last.event_type)) return unlock(sessionId);
    if (now() - (lockedAt.get(sessionId) ?? -Infinity) < LOCK_MS) return;
    lockedAt.set(sessionId, now());
    bus.show({ kind: "locked", sessionId });
  });
  // This machine gets no event when a session is deleted or another machine starts to drive it. So it checks the locks
  // regularly.
  const looking = setInterval(() => {
    for (const sessionId of lockedAt.keys()) showInTurn(sessionId);
  }, LOOK_MS).unref();
  return () => {
    stop();
    clearInterval(looking);
    for (const { timer } of resting.values()) clearTimeout(timer);
    for (const sessionId of lockedAt.keys()) bus.show({ kind: "unlocked", sessionId });
  };
}
