import { type Event, KnownError, type NewEvent, isKnownError } from "@skein/protocol";
import { withPlaces } from "../../log/append-rules.ts";
import type { AppendOptions, Appended, Lease, Store } from "../../ports/store.ts";
import type { Mutant } from "./mutants.ts";
import type { World } from "./world.ts";

/** Wraps a store and adds one planted bug to its calls. The wrapped store is correct. */
export function createMutantStore(store: Store, mutant: Mutant | null, world: World): Store {
  switch (mutant) {
    case "no-fence":
      return withoutFence(store);
    case "max-plus-one":
      return withMaxPlusOne(store, world);
    case "repeated-ids":
      return withRepeatedIds(store, world);
    case "event-before-commit":
      return withEarlyEvents(store, world);
    case "lost-wake-up":
      return {
        ...store,
        release: (lease, next) => store.release(lease, { ...next, seen: Number.POSITIVE_INFINITY }),
      };
    case "loser-renews":
      return { ...store, renew: async (leases) => store.renew(leases).then(() => []) };
    case "release-without-owner":
      return withForeignRelease(store);
    case "two-leases":
      return withTwoLeases(store);
    case "no-idempotency-key":
      return { ...store, append: (id, events, { key: _, ...options } = {}) => store.append(id, events, options) };
    case "acknowledged-not-stored":
      return withLostPrompts(store, world);
    case "read-skips":
      return withSkippingReads(store, world);
    case "fork-drops-a-message":
      return withForks(store, (events) => events.toSpliced(1, 1));
    case "fork-forgets-open-calls":
      return withForks(store, (events) => (closesCalls(events.at(-1)) ? events.slice(0, -1) : events));
    default:
      return store;
  }
}

/** Remembers the holder of each lease, for bugs that use another worker's lease. */
function tracking(store: Store): { store: Store; holder: (sessionId: string) => Lease | undefined } {
  const leases = new Map<string, Lease>();
  return {
    holder: (sessionId) => leases.get(sessionId),
    store: {
      ...store,
      async claim(options) {
        const claimed = await store.claim(options);
        if (claimed.kind === "leased") leases.set(claimed.lease.sessionId, claimed.lease);
        return claimed;
      },
    },
  };
}

function withoutFence(inner: Store): Store {
  const { store, holder } = tracking(inner);
  return {
    ...store,
    async append(sessionId, events, options = {}) {
      try {
        return await store.append(sessionId, events, options);
      } catch (error) {
        const current = holder(sessionId);
        if (!isKnownError(error, "lease_lost") || !current) throw error;
        return store.append(sessionId, events, { ...options, lease: current });
      }
    },
  };
}

/** Reads the sequence before other appends have committed, so two appends can get the same sequence. */
function withMaxPlusOne(store: Store, world: World): Store {
  const numbers = new Map<string, number>();
  const renumbered = (events: readonly Event[]): readonly Event[] =>
    events.map((event) => ({ ...event, sequence: numbers.get(event.id) ?? event.sequence }));
  const highest = (events: readonly Event[]): number => Math.max(0, ...events.map(({ sequence }) => sequence));
  return {
    ...store,
    async append(sessionId, events, options): Promise<Appended> {
      const known = await store.read(sessionId).catch(() => []);
      const last = highest(renumbered(known));
      await world.turn("MAX()+1 is read", world.random.int(5));
      const appended = await store.append(sessionId, events, options);
      if (!appended.repeated) for (const [i, { id }] of appended.events.entries()) numbers.set(id, last + 1 + i);
      return { ...appended, events: renumbered(appended.events) };
    },
    async read(sessionId, { after = 0, ...options } = {}) {
      return renumbered(await store.read(sessionId, options)).filter(({ sequence }) => sequence > after);
    },
    async *follow(sessionId, options, signal) {
      for await (const event of store.follow(sessionId, options, signal)) yield* renumbered([event]);
    },
  };
}

/** Stores a repeated append a second time with new ids. Readers see the old ids. */
function withRepeatedIds(store: Store, world: World): Store {
  const originals = new Map<string, string>();
  const shown = (events: readonly Event[]): readonly Event[] =>
    events.map((event) => ({ ...event, id: originals.get(event.id) ?? event.id }));
  return {
    ...store,
    async append(sessionId, events, options = {}) {
      const known = (await store.read(sessionId).catch(() => [])).some(({ id }) => id === events[0]?.id);
      if (!known || options.key) return store.append(sessionId, events, options);
      const again = events.map((event): NewEvent => {
        const id = world.ids();
        originals.set(id, event.id);
        return { ...event, id };
      });
      const appended = await store.append(sessionId, again, options);
      return { ...appended, events: shown(appended.events) };
    },
    read: async (sessionId, options) => shown(await store.read(sessionId, options)),
    async *follow(sessionId, options, signal) {
      for await (const event of store.follow(sessionId, options, signal)) yield* shown([event]);
    },
  };
}

function withEarlyEvents(store: Store, world: World): Store {
  const early = new Map<string, Event[]>();
  return {
    ...store,
    async append(sessionId, events, options) {
      if (!world.random.chance(0.05)) return store.append(sessionId, events, options);
      const first = (await store.read(sessionId).catch(() => [])).length + 1;
      early.set(sessionId, [
        ...withPlaces(sessionId, events, { first, createdAt: new Date(world.now()).toISOString() }),
      ]);
      throw new KnownError("store_unavailable", "The commit failed.");
    },
    async *follow(sessionId, options, signal) {
      for await (const event of store.follow(sessionId, options, signal)) {
        const told = early.get(sessionId)?.find(({ sequence }) => sequence === event.sequence);
        yield told ?? event;
      }
    },
  };
}

function withForeignRelease(inner: Store): Store {
  const { store, holder } = tracking(inner);
  return {
    ...store,
    async release(lease, next) {
      try {
        await store.release(lease, next);
      } catch (error) {
        const current = holder(lease.sessionId);
        if (!isKnownError(error, "lease_lost") || !current) throw error;
        await store.release(current, next).catch(() => {});
      }
    },
  };
}

/** If no session is due, a claim returns a session that another worker runs. */
function withTwoLeases(inner: Store): Store {
  const { store, holder } = tracking(inner);
  return {
    ...store,
    async claim(options) {
      const claimed = await store.claim(options);
      if (claimed.kind !== "none" || claimed.nextAt === null) return claimed;
      const { items } = await store.list({ tenant: "default", status: "running" });
      const lease = items.map(({ id }) => holder(id)).find((held) => held && held.owner !== options.owner);
      if (!lease) return claimed;
      await store.free(lease.owner);
      return store.claim({ ...options, sessionId: lease.sessionId });
    },
  };
}

function withLostPrompts(store: Store, world: World): Store {
  return {
    ...store,
    async append(sessionId, events, options: AppendOptions = {}) {
      const prompt = events[0]?.event_type === "prompt.accepted";
      if (!prompt || !world.random.chance(0.05)) return store.append(sessionId, events, options);
      const first = (await store.read(sessionId)).length + 1;
      const createdAt = new Date(world.now()).toISOString();
      return { events: withPlaces(sessionId, events, { first, createdAt }), repeated: false };
    },
  };
}

function withSkippingReads(store: Store, world: World): Store {
  const skips = (): boolean => world.random.chance(0.02);
  return {
    ...store,
    async *follow(sessionId, options, signal) {
      const after = (options.after ?? 0) + (skips() ? 1 : 0);
      yield* store.follow(sessionId, { ...options, after }, signal);
    },
  };
}

function withForks(store: Store, change: (events: readonly NewEvent[]) => readonly NewEvent[]): Store {
  return {
    ...store,
    append(sessionId, events, options) {
      const [created] = events;
      const fork = created?.event_type === "session.created" && created.data.parent !== null && events.length > 1;
      return store.append(sessionId, fork ? change(events) : events, options);
    },
  };
}

function closesCalls(event: NewEvent | undefined): boolean {
  return event?.event_type === "message.copied" && JSON.stringify(event.data.content).includes("not carried over");
}
