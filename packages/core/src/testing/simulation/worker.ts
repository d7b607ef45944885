import { type Ids, isKnownError } from "@skein/protocol";
import type { Taken } from "../../ports/engine.ts";
import type { Claimed } from "../../ports/runtime.ts";
import { foldAll } from "../../log/fold.ts";
import type { SessionState } from "../../log/state.ts";
import { openingOf } from "../../run/opening.ts";
import { type Sessions, createSessions } from "../../sessions/sessions.ts";
import type { Claim, Store } from "../../ports/store.ts";
import type { Operation } from "../check-history.ts";
import { AGENT } from "./client.ts";
import type { CreateRuntime } from "./simulated-runtime.ts";
import type { Faults } from "./faults.ts";
import { createFaultyStore } from "./faulty-store.ts";
import type { ModelAndTools } from "./model-and-tools.ts";
import type { Process, World } from "./world.ts";

const LEASE_MS = 4000;
const POLL_MS = 1000;

export interface WorkerDeps {
  readonly world: World;
  readonly store: Store;
  readonly modelAndTools: ModelAndTools;
  readonly ids: Ids;
  readonly createRuntime: CreateRuntime;
  readonly faults: () => Faults;
  /** How many prompts this worker accepts itself, for new or existing sessions, over all its restarts. */
  readonly beginnings: number;
  /** True near the end of the simulation, when nothing new begins. */
  readonly closing: () => boolean;
  readonly history: { readonly operations: Operation[] };
  /** Ids of sessions that were created. Some may be deleted. */
  readonly known: string[];
  readonly report: (error: unknown) => void;
}

/** A worker that is restarted after every crash, as a new owner. */
export interface Worker {
  /** How many times in a row the worker found no session that is due, now or later. */
  idleFor(): number;
  /** Resets `idleFor` to 0, because earlier checks did not see the latest prompts. */
  countAnew(): void;
}

export function startWorker(name: string, deps: WorkerDeps): Worker {
  const { world, faults } = deps;
  let births = 0;
  let idle = 0;
  let left = deps.beginnings;

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
    const found = (claim: Claim): void => void (idle = hasNothing(claim) ? idle + 1 : 0);
    const mayBegin = (): boolean => left > 0 && !deps.closing() && world.random.chance(0.3) && left-- > 0;
    void work({ ...deps, process, dead, found, mayBegin });
  }

  begin(null);
  return { idleFor: () => idle, countAnew: () => (idle = 0) };
}

function hasNothing(claim: Claim): boolean {
  return claim.kind === "none" && claim.nextAt === null;
}

interface Work extends WorkerDeps {
  readonly process: Process;
  /** The name under which this worker held leases before its last crash. */
  readonly dead: string | null;
  readonly found: (claim: Claim) => void;
  /** Whether the worker accepts a prompt itself now. Each `true` uses up one of `beginnings`. */
  readonly mayBegin: () => boolean;
}

async function work({ world, process, dead, found, mayBegin, ...deps }: Work): Promise<void> {
  const store = createFaultyStore({ world, store: deps.store, process, faults: deps.faults });
  let wake = (): void => {};
  store.onNews(() => wake());
  const sleep = (ms: number): Promise<void> => process.turn(`${process.name} has slept`, ms);
  const runtime = deps.createRuntime({
    store,
    sleep,
    now: world.now,
    ids: deps.ids,
    random: () => world.random.next(),
    model: deps.modelAndTools.modelFor(process),
    tools: deps.modelAndTools.toolsFor(process),
    report: deps.report,
  });

  /** Waits for news, at most until the next session is due. */
  const idle = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      void sleep(ms).then(resolve);
    });

  async function drive(
    { lease, lastSequence }: Pick<Claimed, "lease" | "lastSequence">,
    asked: number,
    begins: boolean,
  ): Promise<void> {
    const held = { over: false };
    const clock = { validUntil: asked + LEASE_MS };
    const claimed: Claimed = { lease, lastSequence, clock, begins, prolong: () => lease };
    const stop = new AbortController();
    // Sometimes a worker is asked to stop in the middle of its work.
    if (world.random.chance(0.05)) stop.abort();
    void keepLease({ store, claimed, held, stop, now: world.now, sleep });
    await runtime.drive(claimed, stop.signal);
    held.over = true;
  }

  /** Accepts a prompt in one append that also takes the lease and begins the run. Then drives the session. */
  async function acceptHere(
    { sessionId, known }: { readonly sessionId: string; readonly known?: SessionState },
    accept: (sessions: Sessions) => Promise<Partial<Operation>>,
    operations: readonly Operation[],
  ): Promise<void> {
    const asked = world.now();
    const claim = { owner: process.name, leaseMs: LEASE_MS };
    let taken: Taken | null = null;
    const states = { takeKnown: () => known, put: () => {} };
    const sessions = createSessions({
      store,
      now: world.now,
      ids: deps.ids,
      reserve: (_, tenant) => ({
        claim,
        opening: (events) => openingOf({ runtime, states, now: world.now }, { sessionId, tenant, events }),
        settle: (settled) => (taken = settled),
      }),
    });
    deps.history.operations.push(...operations);
    const accepted = await accept(sessions);
    for (const operation of operations)
      Object.assign(operation, operation.kind === "prompt" && accepted, { outcome: "ok" });
    const lease = taken as Taken | null;
    if (!lease) return;
    await drive({ lease: { ...claim, sessionId, fence: lease.fence }, lastSequence: lease.lastSequence }, asked, true);
  }

  const asking = (kind: "create" | "prompt", text: string, sessionId: string): Operation => {
    return {
      client: process.name,
      outcome: "unknown",
      key: null,
      kind,
      text,
      sessionId,
      messageId: null,
      sequence: null,
    };
  };

  async function beginHere(): Promise<void> {
    const id = deps.ids();
    const [title, text] = [`begin ${id}`, `prompt ${id}`];
    found({
      kind: "leased",
      lease: { sessionId: id, fence: 1, owner: process.name, leaseMs: LEASE_MS },
      lastSequence: 0,
    });
    const accept = async (sessions: Sessions) => {
      const accepted = await sessions.begin(AGENT, text, { id, title });
      deps.known.push(id);
      return accepted;
    };
    await acceptHere({ sessionId: id }, accept, [asking("create", title, id), asking("prompt", text, id)]);
  }

  /** Accepts a prompt for an existing session. The state in this worker may be outdated. */
  async function promptHere(): Promise<void> {
    const sessionId = world.random.pick(deps.known);
    const text = `prompt ${deps.ids()}`;
    const prompt = asking("prompt", text, sessionId);
    try {
      const known = foldAll(sessionId, await store.read(sessionId));
      await acceptHere({ sessionId, known }, (sessions) => sessions.prompt(sessionId, text), [prompt]);
    } catch (error) {
      if (!isKnownError(error, "not_found")) throw error;
      prompt.outcome = "refused";
    }
  }

  if (dead !== null && world.random.chance(0.5)) await freeDead(store, dead);
  for (;;) {
    try {
      if (mayBegin()) await (deps.known.length === 0 || world.random.chance(0.5) ? beginHere() : promptHere());
      const asked = world.now();
      const claim = await store.claim({ owner: process.name, leaseMs: LEASE_MS });
      found(claim);
      if (claim.kind === "leased") {
        await drive(claim, asked, false);
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

/** Frees the leases of a dead worker, as an engine does when it starts. */
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

/** Renews a lease. Appends also renew it, but a worker can be without an append for a long time. */
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
