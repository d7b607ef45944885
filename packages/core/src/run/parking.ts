import { KnownError, isKnownError } from "@skein/protocol";
import type { Claimed, Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";

/** A session that failed 5 times in one worker. It sleeps until a person retries it or a new prompt comes. */
interface ParkedSession {
  readonly sessionId: string;
  readonly tenant: string;
  readonly parkedAt: string;
  /** The number of failed attempts of the worker that parked the session. */
  readonly attempts: number;
  /** The last error. */
  readonly problem: string;
}

/** Parks sessions that fail repeatedly, so that they do not delay other sessions. */
export interface Parking {
  /** Wraps a runtime, so that sessions are parked if they fail repeatedly. */
  guard(runtime: Runtime): Runtime;
  list(
    tenant: string,
    page?: { readonly limit?: number; readonly cursor?: string },
  ): Promise<{
    readonly items: readonly ParkedSession[];
    readonly cursor: string | null;
  }>;
  /** Makes the session due now, so that a worker tries it again. Rejects with `not_found` if it is not parked. */
  retry(tenant: string, sessionId: string): Promise<void>;
  /**
   * Leaves the session asleep, and removes it from the list of parked sessions. Its log stays, and a new prompt wakes
   * it.
   */
  discard(tenant: string, sessionId: string): Promise<void>;
}

interface ParkingDeps {
  readonly store: Store;
  readonly now: () => number;
  readonly report: (error: unknown) => void;
}

const KIND = "parked-session";
/** After this number of failures in a process, a session is parked. */
const PATIENCE = 5;
/** The delay after the first failure. The delay doubles with each further failure. */
const AGAIN_MS = 100;
/** The most sessions whose failures are counted at the same time. */
const REMEMBERED = 1000;

export function createParking({ store, now, report }: ParkingDeps): Parking {
  /** How often each session failed in this process since its last new event. */
  const failures = new Map<string, { readonly sequence: number; readonly attempts: number }>();

  function count({ lease, lastSequence }: Claimed): number {
    const known = failures.get(lease.sessionId);
    const attempts = (known?.sequence === lastSequence ? known.attempts : 0) + 1;
    failures.delete(lease.sessionId);
    failures.set(lease.sessionId, { sequence: lastSequence, attempts });
    const [oldest] = failures.keys();
    if (failures.size > REMEMBERED && oldest !== undefined) failures.delete(oldest);
    return attempts;
  }

  async function failed(claimed: Claimed, error: unknown): Promise<void> {
    const { lease, lastSequence: seen } = claimed;
    const attempts = count(claimed);
    if (attempts < PATIENCE) return store.release(lease, { seen, dueAt: now() + AGAIN_MS * 2 ** (attempts - 1) });
    const tenant = (await store.get(lease.sessionId))?.tenant ?? "default";
    const problem = error instanceof Error ? error.message : String(error);
    const value = { parked_at: new Date(now()).toISOString(), attempts, problem: problem.slice(0, 2000) };
    await store.records.put([{ tenant, kind: KIND, id: lease.sessionId, value }]);
    failures.delete(lease.sessionId);
    await store.release(lease, { seen, dueAt: null });
  }

  async function take(tenant: string, sessionId: string): Promise<void> {
    if (await store.records.delete(tenant, KIND, sessionId)) return;
    throw new KnownError("not_found", `Session ${sessionId} is not parked.`);
  }

  return {
    guard: (runtime) => ({
      ...runtime,
      async drive(claimed, signal) {
        try {
          await runtime.drive(claimed, signal);
          failures.delete(claimed.lease.sessionId);
        } catch (error) {
          // An unavailable store or a lost lease is not the session's fault.
          if (isKnownError(error, "lease_lost", "not_found", "closed", "store_unavailable", "disk_full")) return;
          report(error);
          // If the failure cannot be recorded, the lease expires and the session is tried again.
          await failed(claimed, error).catch(() => undefined);
        }
      },
    }),
    async list(tenant, page = {}) {
      const { items, cursor } = await store.records.list({ tenant, kind: KIND, ...page });
      return { items: items.map(({ id, value }) => parkedOf(tenant, id, value)), cursor };
    },
    async retry(tenant, sessionId) {
      await take(tenant, sessionId);
      const claim = await store.claim({ owner: "retry", leaseMs: 1000, sessionId });
      // If another worker has the lease, that worker is already working on the session.
      if (claim.kind === "leased") await store.release(claim.lease, { seen: claim.lastSequence, dueAt: now() });
    },
    discard: take,
  };
}

/** Removes the record of a parked session, because the session is deleted. */
export async function forgetParked(
  { records }: Pick<Store, "records">,
  { tenant, sessionId }: { readonly tenant: string; readonly sessionId: string },
): Promise<void> {
  await records.delete(tenant, KIND, sessionId);
}

function parkedOf(tenant: string, sessionId: string, value: unknown): ParkedSession {
  const { parked_at, attempts, problem } = value as { parked_at: string; attempts: number; problem: string };
  return { sessionId, tenant, parkedAt: parked_at, attempts, problem };
}
