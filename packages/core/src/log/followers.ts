import { longText } from "./json-size.ts";
import { type Event, isKnownError } from "@skein/protocol";
import { sizeOfEvent } from "./event-size.ts";

export interface FollowersDeps {
  /** Reads the next events of a log from the store. The result is empty only at the end of the log. */
  readonly read: (sessionId: string, after: number, most: StretchLimit) => Promise<Stretch>;
}

/** The limit of one read. The event that reaches the limit is still included. */
export interface StretchLimit {
  readonly events: number;
  readonly bytes: number;
}

export interface Stretch {
  readonly events: readonly Event[];
  /** Whether the read reached its limit, so that the log may have more events. */
  readonly full: boolean;
}

export interface FollowOptions {
  readonly after: number;
  /** Called once, when all stored events have been returned. */
  readonly onCaughtUp?: (() => void) | undefined;
}

/** Passes appended events to the followers of their session. */
export interface Followers {
  follow(sessionId: string, options: FollowOptions, signal: AbortSignal): AsyncIterable<Event>;
  /** Passes on events that this process appended. Call this after their commit. */
  deliver(sessionId: string, events: readonly Event[]): void;
  /** Call this when another process has appended events. The followers of the session then read the store. */
  poke(sessionId: string): void;
  /** Returns the tenant if this process has just created the session. This saves a read of the store. */
  tenantOf(sessionId: string): string | undefined;
  /**
   * Returns the sessions with followers. The store checks them regularly, because a notice of new events can get lost.
   */
  followed(): readonly string[];
  /** Ends the followers of a deleted session. */
  end(sessionId: string): void;
  onNews(listener: NewsListener): () => void;
  /** Ends every follower. */
  close(): void;
}

/** Called when a session has new events. `events` is undefined if another process appended the events. */
export type NewsListener = (sessionId: string, events: readonly Event[] | undefined) => void;

interface Follower {
  queue: Event[];
  /** The estimated bytes of the events that were put into the queue since it was last empty. */
  queued: number;
  /** Whether events are missing in the queue, so that the store must be read. */
  stale: boolean;
  ended: boolean;
  wake: () => void;
}

/** The limit of a read. It counts bytes too, because events that a slow follower has not taken yet stay in memory. */
const STRETCH: StretchLimit = { events: 1000, bytes: 1024 * 1024 };
/** A follower that does not keep up re-reads the store instead of holding a growing queue in memory. */
const QUEUE_LIMIT = 1000;
const QUEUE_BYTES = 1024 * 1024;
/**
 * Clients usually follow a new session at once. So the logs of the newest sessions of this process stay in memory: at
 * most `BEGINNINGS` logs with at most `BEGINNING_LENGTH` events each.
 */
const BEGINNINGS = 64;
const BEGINNING_LENGTH = 8;

export function createFollowers({ read }: FollowersDeps): Followers {
  const bySession = new Map<string, Set<Follower>>();
  const listeners = new Set<NewsListener>();
  const reading = new Map<string, Promise<Stretch>>();
  /** Complete logs of new sessions. A log is dropped when it becomes long or another process writes to it. */
  const beginnings = new Map<string, readonly Event[]>();

  function remember(sessionId: string, events: readonly Event[]): void {
    const known = beginnings.get(sessionId) ?? [];
    beginnings.delete(sessionId);
    if (events[0]?.sequence !== known.length + 1 || known.length + events.length > BEGINNING_LENGTH) return;
    // Large messages are not kept: 64 of them would be 2 GB. Followers read them from the store.
    if (events.some(({ data }) => longText(data) > 0)) return;
    beginnings.set(sessionId, [...known, ...events]);
    for (const oldest of beginnings.keys()) {
      if (beginnings.size <= BEGINNINGS) return;
      beginnings.delete(oldest);
    }
  }

  function subscribe(sessionId: string): Follower {
    const begun = beginnings.get(sessionId);
    const follower: Follower = { queue: [...(begun ?? [])], queued: 0, stale: !begun, ended: false, wake: () => {} };
    const followers = bySession.get(sessionId) ?? new Set();
    bySession.set(sessionId, followers.add(follower));
    return follower;
  }

  function unsubscribe(sessionId: string, follower: Follower): void {
    const followers = bySession.get(sessionId);
    followers?.delete(follower);
    if (followers?.size === 0) bySession.delete(sessionId);
  }

  async function* follow(
    sessionId: string,
    { after, onCaughtUp }: FollowOptions,
    signal: AbortSignal,
  ): AsyncGenerator<Event> {
    // Subscribe before reading: events that are appended in between are in the queue instead of being missed.
    const follower = subscribe(sessionId);
    const stop = (): void => follower.wake();
    signal.addEventListener("abort", stop);
    let cursor = after;
    let caughtUp = onCaughtUp;
    const over = (): boolean => signal.aborted || follower.ended;
    try {
      while (!over()) {
        if (follower.stale) {
          follower.stale = false;
          const { events, full } = await readOrEnd(sessionId, cursor, follower);
          if (full) follower.stale = true;
          for (const event of events) {
            if (over()) return;
            cursor = event.sequence;
            yield event;
          }
          continue;
        }
        const event = follower.queue.shift();
        if (!event) {
          caughtUp?.();
          caughtUp = undefined;
          await new Promise<void>((resolve) => {
            follower.wake = resolve;
            // An abort or a new event may have arrived since the check above.
            if (over() || follower.stale || follower.queue.length > 0) resolve();
          });
          continue;
        }
        if (event.sequence <= cursor) continue;
        if (event.sequence > cursor + 1) {
          follower.queue = [];
          follower.stale = true;
          continue;
        }
        cursor = event.sequence;
        yield event;
      }
    } finally {
      signal.removeEventListener("abort", stop);
      unsubscribe(sessionId, follower);
    }
  }

  /**
   * Shares one read between followers that wait for the same event, because a new event wakes all followers at once.
   */
  function shared(sessionId: string, after: number): Promise<Stretch> {
    const key = `${sessionId} ${after}`;
    const found = reading.get(key);
    if (found) return found;
    const stretch = read(sessionId, after, STRETCH);
    reading.set(key, stretch);
    // A read is shared only until the next microtask: an earlier read may lack the event that woke a later follower.
    queueMicrotask(() => reading.delete(key));
    return stretch;
  }

  async function readOrEnd(sessionId: string, after: number, follower: Follower): Promise<Stretch> {
    try {
      return await shared(sessionId, after);
    } catch (error) {
      if (after === 0 || !isKnownError(error, "not_found")) throw error;
      follower.ended = true;
      return { events: [], full: false };
    }
  }

  function tell(sessionId: string, events?: readonly Event[]): void {
    for (const listener of listeners) listener(sessionId, events);
  }

  return {
    follow,
    deliver(sessionId, events) {
      remember(sessionId, events);
      const followers = bySession.get(sessionId);
      const size = followers ? events.reduce((sum, event) => sum + sizeOfEvent(event), 0) : 0;
      for (const follower of followers ?? []) {
        if (follower.queue.length === 0) follower.queued = 0;
        const isLong = follower.queue.length + events.length > QUEUE_LIMIT;
        // A follower with an empty queue takes an event of any size, because the follower returns the event at once.
        if (isLong || (follower.queue.length > 0 && follower.queued + size > QUEUE_BYTES)) {
          follower.queue = [];
          follower.stale = true;
        } else {
          follower.queue.push(...events);
          follower.queued += size;
        }
        follower.wake();
      }
      tell(sessionId, events);
    },
    poke(sessionId) {
      beginnings.delete(sessionId);
      for (const follower of bySession.get(sessionId) ?? []) {
        follower.stale = true;
        follower.wake();
      }
      tell(sessionId);
    },
    tenantOf(sessionId) {
      const created = beginnings.get(sessionId)?.[0];
      return created?.event_type === "session.created" ? created.data.tenant : undefined;
    },
    followed: () => [...bySession.keys()],
    end(sessionId) {
      beginnings.delete(sessionId);
      for (const follower of bySession.get(sessionId) ?? []) {
        follower.ended = true;
        follower.wake();
      }
    },
    onNews(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      for (const followers of bySession.values())
        for (const follower of followers) {
          follower.ended = true;
          follower.wake();
        }
    },
  };
}
