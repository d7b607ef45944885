import { type Claimed, type Engine, type Opening, type Runtime, type StateCache, openingOf } from "@skein/core";
import type { Event } from "@skein/protocol";

export interface ReservationsDeps {
  readonly runtime: Runtime;
  readonly states: StateCache | undefined;
  readonly claim: { readonly owner: string; readonly leaseMs: number };
  readonly now: () => number;
}

/** How a reservation ended. */
interface Settled {
  /** The lease that was taken together with the append of the prompt; null if none was taken. */
  readonly claimed: Pick<Claimed, "lease" | "lastSequence"> | null;
  /** When the lease was requested. */
  readonly asked: number;
  /** Whether this process or another appended other events to the session during the reservation. */
  readonly hasNews: boolean;
}

/** The sessions for which one append stores a prompt and takes the lease. */
export interface Reservations {
  has(sessionId: string): boolean;
  /**
   * Must be called for all new events. If a session is reserved, its last sequence is remembered, so that `hasNews` can
   * be told.
   */
  hear(sessionId: string, events: readonly Event[] | undefined): void;
  reserve(sessionId: string, tenant: string, settled: (how: Settled) => void): ReturnType<Engine["reserve"]>;
}

export function createReservations({ runtime, states, claim, now }: ReservationsDeps): Reservations {
  /** The last known sequence of each reserved session. */
  const reserved = new Map<string, number>();
  return {
    has: (sessionId) => reserved.has(sessionId),
    hear(sessionId, events) {
      if (reserved.has(sessionId)) reserved.set(sessionId, events?.at(-1)?.sequence ?? Number.POSITIVE_INFINITY);
    },
    reserve(sessionId, tenant, settled) {
      reserved.set(sessionId, 0);
      const asked = now();
      let opening: Opening | undefined;
      return {
        claim,
        async opening(events) {
          opening = await openingOf({ runtime, states, now }, { sessionId, tenant, events });
          return opening;
        },
        settle(taken) {
          const heard = reserved.get(sessionId) ?? 0;
          reserved.delete(sessionId);
          if (!taken) return settled({ claimed: null, asked, hasNews: heard > 0 });
          const { fence, lastSequence } = taken;
          const hasNews = heard > lastSequence;
          if (!hasNews) opening?.keep();
          return settled({ claimed: { lease: { ...claim, sessionId, fence }, lastSequence }, asked, hasNews });
        },
      };
    },
  };
}
