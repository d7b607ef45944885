import { KnownError, type NewEvent } from "@skein/protocol";
import type { Store } from "../../ports/store.ts";
import type { FactPlace } from "./runtime-under-test.ts";

/**
 * How a worker loses its session after a fact. `told`: the worker gets the answer to its append and continues, and its
 * next append is rejected. `untold`: the fact is stored, but the worker gets an error.
 */
export type Loss = "told" | "untold";

/** Returns the type of every fact, and the number of the fact among all facts of this type. */
export function placesOf(events: readonly { readonly event_type: string }[]): readonly FactPlace[] {
  const seen = new Map<string, number>();
  return events.map(({ event_type }): FactPlace => {
    const nth = (seen.get(event_type) ?? 0) + 1;
    seen.set(event_type, nth);
    return [event_type, nth];
  });
}

/** Creates a store in which a process loses its session after a fact: another owner takes the lease and releases it. */
export function losingStore(
  store: Store,
  { place, loss, onLoss }: { readonly place: FactPlace; readonly loss: Loss; readonly onLoss: () => void },
): Store {
  const written: NewEvent[] = [];
  let isLost = false;

  async function takeOver(sessionId: string, owner: string): Promise<void> {
    isLost = true;
    await store.free(owner);
    const claim = await store.claim({ owner: "contract/taker", leaseMs: 60_000, sessionId });
    if (claim.kind !== "leased") throw new Error(`The session could not be taken over: it is ${claim.kind}.`);
    await store.release(claim.lease, { seen: claim.lastSequence, dueAt: Date.now() });
    onLoss();
  }

  return {
    ...store,
    // After the loss, a claim finds no session, so that the worker does not claim the lost session again.
    claim: (options) => (isLost ? Promise.resolve({ kind: "none", nextAt: null }) : store.claim(options)),
    async append(sessionId, events, options) {
      const { lease } = options ?? {};
      const before = written.length;
      if (lease && !isLost) written.push(...events);
      const [type, nth] = place;
      const found = placesOf(written).findIndex((one) => one[0] === type && one[1] === nth);
      if (!lease || isLost || found < before) return store.append(sessionId, events, options);
      if (loss === "told") {
        const appended = await store.append(sessionId, events, options);
        await takeOver(sessionId, lease.owner);
        return appended;
      }
      const { release: _, ...kept } = options ?? {};
      await store.append(sessionId, events.slice(0, found - before + 1), kept);
      await takeOver(sessionId, lease.owner);
      throw new KnownError("lease_lost", "Another worker has this session.");
    },
  };
}
