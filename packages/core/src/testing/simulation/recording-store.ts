import type { Lease, Store } from "../../ports/store.ts";
import type { Act } from "../check-history.ts";

/** Creates a store that records every accepted action under a lease, with its worker. */
export function createRecordingStore(store: Store, acts: Act[], now: () => number): Store {
  const record = (kind: Act["kind"], lease: Lease, place: Pick<Act, "first" | "last"> = {}): void => {
    const { sessionId, owner, fence, leaseMs } = lease;
    acts.push({ kind, at: now(), sessionId, owner, fence, until: now() + leaseMs, ...place });
  };

  return {
    ...store,
    async append(sessionId, events, options = {}) {
      const appended = await store.append(sessionId, events, options);
      const { claim, release } = options;
      const begun = claim && { ...claim, sessionId, fence: appended.fence ?? 0 };
      const lease = options.lease ?? begun;
      if (!lease || appended.repeated) return appended;
      if (begun) record("claim", begun);
      const [first, last] = [appended.events[0]?.sequence ?? 0, appended.events.at(-1)?.sequence ?? 0];
      record("append", lease, { first, last });
      if (release) record("release", lease);
      return appended;
    },
    async claim(options) {
      const claimed = await store.claim(options);
      if (claimed.kind === "leased") record("claim", claimed.lease);
      return claimed;
    },
    async renew(leases) {
      const lost = await store.renew(leases);
      for (const lease of leases) if (!lost.includes(lease)) record("renew", lease);
      return lost;
    },
    async release(lease, next) {
      await store.release(lease, next);
      record("release", lease);
    },
    async free(owner) {
      await store.free(owner);
      const sessions = new Set(acts.filter((act) => act.owner === owner).map(({ sessionId }) => sessionId));
      for (const sessionId of sessions) record("free", { sessionId, owner, fence: 0, leaseMs: 0 });
    },
  };
}
