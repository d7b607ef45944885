import type { Event } from "@skein/protocol";
import { fold, foldAll, restore } from "../../log/fold.ts";
import { createMemoryStore } from "../../memory-store/memory-store.ts";
import type { Store } from "../../ports/store.ts";
import {
  type Act,
  type History,
  type Operation,
  type StoredSession,
  type Stream,
  type Violation,
  checkHistory,
} from "../check-history.ts";
import { type Client, startClient } from "./client.ts";
import type { CreateRuntime } from "./simulated-runtime.ts";
import { type Faults, drawFaults } from "./faults.ts";
import { createMutantStore } from "./mutant-store.ts";
import type { Mutant } from "./mutants.ts";
import { createModelAndTools } from "./model-and-tools.ts";
import { startReader } from "./reader.ts";
import { createRecordingStore } from "./recording-store.ts";
import { createScriptedRuntime } from "./scripted-runtime.ts";
import { type Worker, startWorker } from "./worker.ts";
import { type World, createWorld } from "./world.ts";

/**
 * `safety`: faults happen until the end. `liveness`: the faults stop, and every accepted prompt must then be answered.
 */
export type SimulationMode = "safety" | "liveness";

export interface SimulationOptions {
  readonly seed: number;
  readonly mode: SimulationMode;
  readonly mutant?: Mutant | null;
  readonly keepTrace?: boolean;
  /** Any store that needs no real time. */
  readonly openStore?: (deps: { now: () => number }) => Store;
  readonly createRuntime?: CreateRuntime;
  /** Whether the runtime waits for people, so that clients must answer. */
  readonly answers?: boolean;
}

export interface SimulationResult {
  readonly seed: number;
  readonly mode: SimulationMode;
  readonly violations: readonly Violation[];
  /** A hash of everything that happened; equal for equal seeds. */
  readonly hash: string;
  readonly turns: number;
  readonly events: number;
  readonly trace: readonly string[];
}

const NO_FAULTS: Faults = {
  crash: 0,
  freeze: 0,
  unavailable: 0,
  lostAnswer: 0,
  late: 0,
  lostNews: 0,
  cutStream: 0,
  modelFails: 0,
  latencyMs: 3,
};

/** How long a safety simulation continues, with faults, after the clients are done. */
const SAFETY_TAIL_MS = 20_000;
/**
 * The time limit of a liveness simulation after its last fault. Every lease, every retry and a poisoned run end in this
 * time.
 */
const LIVENESS_BOUND_MS = 600_000;

/** Long enough for a reader that has just connected to receive everything. */
const CATCH_UP_MS = 1500;

/**
 * Runs the simulation of one seed and checks its history.
 *
 * The real memory store, sessions, fold and projections run in a simulated world. The seed decides every id, delay,
 * choice and failure. A killed process never continues after an `await`, so not even `finally` runs. Not tested here:
 * SQL, files, fsync and real clocks. `npm run kill` and `npm run powercut` test those.
 */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, mode, mutant = null, keepTrace = false, openStore = createMemoryStore } = options;
  const createRuntime = options.createRuntime ?? ((deps) => createScriptedRuntime(deps, mutant));
  const world = createWorld({ seed: mode === "safety" ? seed * 2 : seed * 2 + 1, keepTrace });
  const { random, now } = world;
  const drawn = drawFaults(random);
  const faultsEnd = mode === "safety" ? Infinity : now() + random.between(0, 30_000);
  const faults = (): Faults => (now() < faultsEnd ? drawn : NO_FAULTS);

  const acts: Act[] = [];
  const errors: string[] = [];
  const report = (error: unknown): void => void errors.push(error instanceof Error ? error.message : String(error));
  const raw = createMutantStore(openStore({ now }), mutant, world);
  const store = createRecordingStore(raw, acts, now);
  const modelAndTools = createModelAndTools({ world, faults });
  const history: { operations: Operation[]; streams: Stream[] } = { operations: [], streams: [] };
  const known: string[] = [];

  const shared = { world, store, ids: world.ids, faults, report, history, known };
  let closesAt = Infinity;
  const closing = (): boolean => closesAt < Infinity;
  const beginnings = options.answers ? 4 : 0;
  const workers = ["w1", "w2", "w3"].map((name) =>
    startWorker(name, { ...shared, modelAndTools, createRuntime, beginnings, closing }),
  );
  const clients = ["c1", "c2"].map((name) =>
    startClient(name, {
      ...shared,
      answers: options.answers ?? false,
      operations: random.between(3, 9),
    }),
  );
  for (const name of ["r1", "r2"]) startReader(name, { ...shared, streams: history.streams, closing });

  await world.run(endOf({ world, mode, workers, clients, faultsEnd }));
  closesAt = now() + (mode === "liveness" ? CATCH_UP_MS : 0);
  await world.run(() => now() >= closesAt);
  const sessions = await stored(raw);
  for (const { sessionId, events } of sessions) await checkSnapshot(raw, sessionId, events).catch(report);
  const checked: History = {
    ...history,
    sessions,
    acts,
    effects: modelAndTools.effects,
    modelCalls: modelAndTools.modelCalls,
    streams: mode === "liveness" ? history.streams : history.streams.map((stream) => ({ ...stream, complete: false })),
    errors,
    mustFinish: mode === "liveness",
  };
  return {
    seed,
    mode,
    violations: checkHistory(checked),
    hash: world.hash(),
    turns: world.turns,
    events: sessions.reduce((sum, { events }) => sum + events.length, 0),
    trace: world.trace,
  };
}

interface EndDeps {
  readonly world: World;
  readonly mode: SimulationMode;
  readonly workers: readonly Worker[];
  readonly clients: readonly Client[];
  readonly faultsEnd: number;
}

/**
 * Returns a function that decides when the simulation ends: at its time limit, or when the clients are done and every
 * worker has found no work several times.
 */
function endOf({ world, mode, workers, clients, faultsEnd }: EndDeps): () => boolean {
  let bound = Infinity;
  return () => {
    if (bound === Infinity) {
      if (!clients.every((client) => client.done())) return false;
      for (const worker of workers) worker.countAnew();
      bound = mode === "safety" ? world.now() + SAFETY_TAIL_MS : Math.max(world.now(), faultsEnd) + LIVENESS_BOUND_MS;
    }
    if (world.now() > bound) return true;
    const calm = mode === "safety" || world.now() > faultsEnd + 10_000;
    return calm && workers.every((worker) => worker.idleFor() > 5);
  };
}

/** Reads the sessions of the store without faults. */
async function stored(store: Store): Promise<readonly StoredSession[]> {
  const { items } = await store.list({ tenant: "default", limit: 1_000 });
  const all = { limit: 1_000_000 };
  return Promise.all(
    items.map(async (session) => ({
      sessionId: session.id,
      session,
      events: await store.read(session.id),
      runs: (await store.runs(session.id, all)).items.toReversed(),
      messages: (await store.messages(session.id, all)).items,
    })),
  );
}

/** Checks that a state from a snapshot equals the fold of the whole log. */
async function checkSnapshot(store: Store, sessionId: string, events: readonly Event[]): Promise<void> {
  const snapshot = await store.readSnapshot(sessionId);
  const start = snapshot && restore(snapshot);
  if (!start) return;
  const continued = fold(start, events.slice(start.sequence));
  if (JSON.stringify(continued) !== JSON.stringify(foldAll(sessionId, events)))
    throw new Error(
      `Session ${sessionId}: the state from the snapshot at ${snapshot.sequence} differs from the log's.`,
    );
}
