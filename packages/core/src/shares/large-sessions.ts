import { isKnownError } from "@skein/protocol";
import type { StateCache } from "../log/state-cache.ts";
import { LEASE_LOST, type Claimed, type Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import { type FairQueue, type GiveBack, type QueueFigures, createFairQueue } from "./fair-queue.ts";
import type { Standing } from "./run-places.ts";

export interface LargeSessionsDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly now: () => number;
  /** Whether there are several tenants. */
  readonly isShared?: (() => boolean) | undefined;
  /** How many characters of long texts the sessions that are driven may have together. */
  readonly room?: number | undefined;
}

/** Bounds the memory of sessions with large messages: a driven session has its messages in memory until its drive ends. */
export interface LargeSessions {
  /** Wraps a runtime: a large session waits until there is room for it. Tenants take turns. */
  bound(runtime: Runtime): Runtime;
  figures(): QueueFigures;
  /** The position of a session that waits for room; undefined if it does not wait. */
  standing(sessionId: string): Standing | undefined;
}

/** Two sessions of one tenant with the largest message that the server accepts, and one of another tenant. */
const ROOM = 96 * 1024 * 1024;
/** Smaller sessions never wait: even if every driving slot has one, they use little memory. */
const LARGE = 1024 * 1024;

export function createLargeSessions(deps: LargeSessionsDeps): LargeSessions {
  const { store, states, now, isShared, room: places = ROOM } = deps;
  const room: FairQueue = createFairQueue({ places, isShared });
  /** The tenant of each session that waits, in the order in which they came. */
  const waiting = new Map<string, string>();

  /** The state is returned to the cache: while the session waits, the cache may drop it. */
  async function sizeOf({ lease, lastSequence }: Claimed): Promise<{ readonly tenant: string; readonly size: number }> {
    const state = await states.take(lease.sessionId, lastSequence);
    states.put(state);
    return { tenant: state.tenant, size: states.longText(state) };
  }

  async function wait(sessionId: string, tenant: string, asked: { size: number; signal: AbortSignal }) {
    waiting.set(sessionId, tenant);
    try {
      return await room.take(tenant, asked);
    } finally {
      waiting.delete(sessionId);
    }
  }

  /** Undefined if the drive must stop before there is room. */
  async function roomFor(claimed: Claimed, signal: AbortSignal): Promise<GiveBack | undefined> {
    const { tenant, size } = await sizeOf(claimed);
    if (size <= LARGE) return () => {};
    const { sessionId } = claimed.lease;
    const giveBack = room.tryTake(tenant, size) ?? (await wait(sessionId, tenant, { size, signal }));
    if (!giveBack) return undefined;
    const unpin = states.pin(sessionId);
    return () => (unpin(), giveBack());
  }

  return {
    bound: (runtime) => ({
      ...runtime,
      async drive(claimed, signal) {
        const giveBack = await roomFor(claimed, signal);
        if (!giveBack) {
          if (signal.reason === LEASE_LOST) return;
          return store.release(claimed.lease, { seen: claimed.lastSequence, dueAt: now() }).catch(ignoreLost);
        }
        try {
          await runtime.drive(claimed, signal);
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
        reason: `Sessions with messages of ${places / 1024 / 1024} MiB are driven at the same time, shared by all tenants.`,
      };
    },
  };
}

function ignoreLost(error: unknown): void {
  if (!isKnownError(error, "lease_lost")) throw error;
}
