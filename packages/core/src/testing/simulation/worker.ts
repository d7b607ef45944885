import { type Ids, isKnownError } from "@skein/protocol";
import type { Claimed } from "../../runtime.ts";
import type { Claim, Store } from "../../store.ts";
import type { CreateDriver } from "./driver.ts";
import type { Faults } from "./faults.ts";
import { createFaultyStore } from "./faulty-store.ts";
import type { Outside } from "./outside.ts";
import type { Process, World } from "./world.ts";

const LEASE_MS = 4000;
const POLL_MS = 1000;

export interface WorkerDeps {
  readonly world: World;
  readonly store: Store;
  readonly outside: Outside;
  readonly ids: Ids;
  readonly createDriver: CreateDriver;
  readonly faults: () => Faults;
  readonly report: (error: unknown) => void;
}

/** A worker that is started again whenever it dies, each time as a new owner. */
export interface Worker {
  /** How often in a row it found nothing to do, now or later. */
  idleFor(): number;
  /** Counts from 0 again: what it found before says nothing about what was accepted since. */
  countAnew(): void;
}

export function startWorker(name: string, deps: WorkerDeps): Worker {
  const { world, faults } = deps;
  let births = 0;
  let idle = 0;

  function onTurn(process: Process): void {
    const { crash, freeze } = faults();
    if (world.random.chance(crash)) process.kill("crash");
    else if (world.random.chance(freeze)) process.freeze(world.random.between(LEASE_MS / 2, LEASE_MS * 3));
  }

  function begin(dead: string | null): void {
    const owner = `${name}.${(births += 1)}`;
    const process: Process = world.process(owner, {
      onTurn,
      onKilled() {
        idle = 0;
        void world.turn(`${owner} is started again`, world.random.pick([10, 500, 6000])).then(() => begin(owner));
      },
    });
    void work({ ...deps, process, dead, found: (claim) => (idle = hasNothing(claim) ? idle + 1 : 0) });
  }

  begin(null);
  return { idleFor: () => idle, countAnew: () => (idle = 0) };
}

function hasNothing(claim: Claim): boolean {
  return claim.kind === "none" && claim.nextAt === null;
}

interface Work extends WorkerDeps {
  readonly process: Process;
  /** Who this worker was before it died. */
  readonly dead: string | null;
  readonly found: (claim: Claim) => void;
}

async function work({ world, process, dead, found, ...deps }: Work): Promise<void> {
  const store = createFaultyStore({ world, store: deps.store, process, faults: deps.faults });
  let wake = (): void => {};
  store.onNews(() => wake());
  const sleep = (ms: number): Promise<void> => process.turn(`${process.name} has slept`, ms);
  const driver = deps.createDriver({
    store,
    sleep,
    now: world.now,
    ids: deps.ids,
    random: () => world.random.next(),
    model: deps.outside.modelFor(process),
    tools: deps.outside.toolsFor(process),
    report: deps.report,
  });

  /** Until there is news, and at the latest when the next session is due. */
  const idle = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      void sleep(ms).then(resolve);
    });

  if (dead !== null && world.random.chance(0.5)) await freeDead(store, dead);
  for (;;) {
    try {
      const asked = world.now();
      const claim = await store.claim({ owner: process.name, leaseMs: LEASE_MS });
      found(claim);
      if (claim.kind === "leased") {
        const held = { over: false };
        const claimed: Claimed = {
          ...claim,
          clock: { validUntil: asked + LEASE_MS },
          prolong: () => Promise.resolve(claim.lease),
        };
        const stop = new AbortController();
        // Now and then a worker is asked to stop in the middle of its work.
        if (world.random.chance(0.05)) stop.abort();
        void keepLease({ store, claimed, held, stop, now: world.now, sleep });
        await driver.drive(claimed, stop.signal);
        held.over = true;
        continue;
      }
      const next = claim.kind === "none" ? (claim.nextAt ?? Infinity) : claim.until;
      await idle(Math.max(1, Math.min(POLL_MS, next - world.now())));
    } catch (error) {
      if (!isKnownError(error, "store_unavailable")) {
        deps.report(error);
        return;
      }
      await sleep(50);
    }
  }
}

/** On start an engine frees what its own dead workers held. */
async function freeDead(store: Store, owner: string): Promise<void> {
  try {
    if ((await store.owners()).includes(owner)) await store.free(owner);
  } catch (error) {
    if (!isKnownError(error, "store_unavailable")) throw error;
  }
}

interface Keeping {
  readonly store: Store;
  readonly claimed: Claimed;
  readonly held: { over: boolean };
  readonly stop: AbortController;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Appends renew a lease; this covers the time in which nothing is appended. */
async function keepLease({ store, claimed: { lease, clock }, held, stop, now, sleep }: Keeping): Promise<void> {
  for (;;) {
    await sleep(Math.floor(lease.leaseMs / 3));
    if (held.over) return;
    const asked = now();
    try {
      const lost = await store.renew([lease]);
      if (lost.length > 0) {
        clock.validUntil = 0;
        stop.abort();
        return;
      }
      clock.validUntil = Math.max(clock.validUntil, asked + lease.leaseMs);
    } catch (error) {
      if (!isKnownError(error)) throw error;
    }
  }
}
