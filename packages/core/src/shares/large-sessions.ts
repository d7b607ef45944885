import { isKnownError } from "@skein/protocol";
import type { StateCache } from "../log/state-cache.ts";
import { LEASE_LOST, type Claimed, type Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import { type FairQueue, type GiveBack, type QueueFigures, createFairQueue } from "./fair-queue.ts";
import { runToDrive } from "../run/rules.ts";
import type { Standing } from "./run-places.ts";

export interface LargeSessionsDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly now: () => number;
  /** Whether the store has several tenants. If so, no tenant may take all the room. */
  readonly isShared?: (() => boolean) | undefined;
  /** The limit for the long texts of all sessions that this process runs, in characters. */
  readonly room?: number | undefined;
}

/**
 * Bounds the memory of sessions with large messages: a session has its messages in memory while this process runs it.
 */
export interface LargeSessions {
  /** Wraps a runtime, so that a large session waits until it has room or its run is cancelled. Tenants take turns. */
  bound(runtime: Runtime): Runtime;
  figures(): QueueFigures;
  /** The position of a session that waits for room; undefined if it does not wait. */
  standing(sessionId: string): Standing | undefined;
}

/** How much room a session needs, and for which run. */
interface Needs {
  readonly tenant: string;
  readonly size: number;
  readonly runId: string | undefined;
}

/** Room for a session. If `onlyRun` is set, this run was cancelled while it waited, and only has to be ended. */
interface Room extends Pick<Claimed, "onlyRun"> {
  readonly giveBack: GiveBack;
}

/** Room for three sessions with the largest message that the server accepts. One tenant gets room for two. */
const ROOM = 96 * 1024 * 1024;
/** Sessions below this size never wait, because they use little memory even if all running sessions have this size. */
const LARGE = 1024 * 1024;

export function createLargeSessions(deps: LargeSessionsDeps): LargeSessions {
  const { store, states, now, isShared, room: places = ROOM } = deps;
  const room: FairQueue = createFairQueue({ places, isShared });
  /**
   * A place in which a run that was cancelled while it waited is ended without room. There is one place, because the
   * large session is in memory while its run is ended.
   */
  const endings: FairQueue = createFairQueue({ places: 1, isShared });
  /** The tenants of the waiting sessions, by session id, in the order of arrival. */
  const waiting = new Map<string, string>();

  /** Returns what the session needs. The state goes back into the cache, which may drop it while the session waits. */
  async function needsOf({ lease, lastSequence }: Claimed): Promise<Needs> {
    const state = await states.take(lease.sessionId, lastSequence);
    states.put(state);
    return { tenant: state.tenant, size: states.longText(state), runId: runToDrive(state) };
  }

  async function wait(
    claimed: Claimed,
    { tenant, size, runId }: Needs,
    signal: AbortSignal,
  ): Promise<Room | undefined> {
    const { sessionId } = claimed.lease;
    const cancel = listenForCancel(claimed, runId);
    waiting.set(sessionId, tenant);
    try {
      const giveBack = await room.take(tenant, { size, signal: AbortSignal.any([signal, cancel.signal]) });
      if (giveBack) return { giveBack };
      const toEnd = await endings.take(tenant, { signal });
      return toEnd && { giveBack: toEnd, ...(runId !== undefined && { onlyRun: runId }) };
    } finally {
      cancel.stop();
      waiting.delete(sessionId);
    }
  }

  /** Returns a signal that aborts when the run is cancelled. Reads only new events, because the session is large. */
  function listenForCancel({ lease: { sessionId }, lastSequence: after }: Claimed, runId: string | undefined) {
    const cancelled = new AbortController();
    const check = async (): Promise<void> => {
      const news = await store.read(sessionId, { after });
      const isCancel = news.some((event) => event.event_type === "cancel.requested" && event.data.run_id === runId);
      if (isCancel) cancelled.abort();
    };
    // If the store does not answer, a cancel is not noticed, and the session keeps its place in the queue.
    const look = (): void => void check().catch(() => undefined);
    const stop = store.onNews((id) => id === sessionId && look());
    look();
    return { signal: cancelled.signal, stop };
  }

  /** Waits for room. Returns undefined if the signal aborts first. */
  async function roomFor(claimed: Claimed, signal: AbortSignal): Promise<Room | undefined> {
    const needs = await needsOf(claimed);
    if (needs.size <= LARGE) return { giveBack: () => {} };
    const taken = room.tryTake(needs.tenant, needs.size);
    const found = taken ? { giveBack: taken } : await wait(claimed, needs, signal);
    if (!found) return undefined;
    const unpin = states.pin(claimed.lease.sessionId);
    return { ...found, giveBack: () => (unpin(), found.giveBack()) };
  }

  return {
    bound: (runtime) => ({
      ...runtime,
      async drive(claimed, signal) {
        const found = await roomFor(claimed, signal);
        if (!found) {
          if (signal.reason === LEASE_LOST) return;
          return store.release(claimed.lease, { seen: claimed.lastSequence, dueAt: now() }).catch(ignoreLost);
        }
        const { giveBack, ...only } = found;
        try {
          await runtime.drive({ ...claimed, ...only }, signal);
        } finally {
          giveBack();
        }
      },
    }),
    figures: room.figures,
    standing(sessionId) {
      const tenant = waiting.get(sessionId);
      if (tenant === undefined) return undefined;
      const ofTenant = [...waiting].filter(([, other]) => other === tenant).map(([id]) => id);
      return {
        place: ofTenant.indexOf(sessionId) + 1,
        reason: `The sessions that this process runs may have ${places / 1024 / 1024} MiB of long texts in total, over all tenants.`,
      };
    },
  };
}

function ignoreLost(error: unknown): void {
  if (!isKnownError(error, "lease_lost")) throw error;
}
