import {
  type Batch,
  type DriverLog,
  type Store,
  createDriverLog,
  createMemoryStore,
  createStateCache,
  messageEntered,
  nextPrompt,
  promptAccepted,
  runStarted,
  sessionCreated,
} from "@skein/core";
import { scriptedAgent } from "@skein/core/testing";
import { type Event, type Fact, KnownError, createIds } from "@skein/protocol";
import { expect, test } from "vitest";

const SESSION = "01890000-0000-7000-8000-000000000001";
const LEASE_MS = 1000;
const ids = createIds();

const prompt = (content: string): Fact => promptAccepted({ message_id: ids(), run_id: ids(), mode: "queue", content });

/** Creates a session with one prompt and a lease. The clock advances only during sleeps. */
async function driven(change: (store: Store) => Store = (store) => store) {
  let time = Date.parse("2026-01-01T12:00:00.000Z");
  const now = (): number => time;
  const timers = { sleep: async (ms: number) => void (time += ms) };
  const memory = createMemoryStore({ now });
  const agent = { agent_id: SESSION, agent_version: 1, agent: scriptedAgent };
  const first = [sessionCreated({ tenant: "t", ...agent, working_directory: null }), prompt("one")];
  await append(first, { expect: 0, dueAt: now() });
  const claim = await memory.claim({ owner: "me", leaseMs: LEASE_MS, sessionId: SESSION });
  if (claim.kind !== "leased") throw new Error("The session could not be claimed.");
  const store = change(memory);
  const states = createStateCache({ store });
  const state = await states.load(SESSION);
  const clock = { validUntil: now() + LEASE_MS };
  const takenIn: Event[] = [];
  const heard = (events: readonly Event[]): void => void takenIn.push(...events);
  const driverLog = createDriverLog(
    { lease: claim.lease, clock, state, takenIn: heard },
    { store, states, timers, now, ids },
  );

  async function append(facts: readonly Fact[], options: Parameters<Store["append"]>[2] = {}): Promise<void> {
    await memory.append(
      SESSION,
      facts.map((fact) => ({ ...fact, id: ids() })),
      options,
    );
  }

  return { log: driverLog, memory, append, takenIn, now, clock };
}

/** Begins the next run. */
function begin({ state, add }: Batch): void {
  const next = nextPrompt(state);
  if (!next) return;
  add(runStarted(next, "json"));
  add(messageEntered(state, next.message_id));
}

const typesOf = async (store: Store): Promise<readonly string[]> =>
  (await store.read(SESSION)).map(({ event_type }) => event_type);

function expectInStep({ state }: DriverLog, events: readonly Event[]): void {
  expect(state.sequence).toBe(events.at(-1)?.sequence);
}

test("the facts of a batch are folded into the state and appended to the log", async () => {
  const { log, memory } = await driven();
  await log.write(begin);
  expect(log.state.transcript).toHaveLength(1);
  expect(await typesOf(memory)).toEqual(["session.created", "prompt.accepted", "session.started", "message.created"]);
  expectInStep(log, await memory.read(SESSION));
});

test("if another writer has appended an event, the facts are made again from the new state", async () => {
  const { log, memory, append, takenIn } = await driven();
  await append([prompt("two")]);
  const seen: number[] = [];
  await log.write((batch) => {
    seen.push(batch.state.queue.length);
    begin(batch);
  });
  expect(seen).toEqual([1, 2]);
  expect(takenIn.map(({ event_type }) => event_type)).toEqual(["prompt.accepted"]);
  expect((await typesOf(memory)).filter((type) => type === "session.started")).toHaveLength(1);
  expectInStep(log, await memory.read(SESSION));
});

test("an append to an unavailable store is retried with the same ids, and stored once even if its answer was lost", async () => {
  let failures = 3;
  const { log, memory } = await driven((store) => ({
    ...store,
    async append(...call) {
      // The first two attempts do not reach the store. The third is stored, but its answer is lost.
      if (failures === 1) await store.append(...call);
      if (failures-- > 0) throw new KnownError("store_unavailable", "The store is away.");
      return store.append(...call);
    },
  }));
  await log.write(begin);
  expect(failures).toBe(-1);
  expect(await memory.read(SESSION)).toHaveLength(4);
});

test("an append to an unavailable store is retried until the lease ends, and then nothing more is written", async () => {
  const away = new KnownError("store_unavailable", "The store is away.");
  const { log, memory, now, clock } = await driven((store) => ({ ...store, append: () => Promise.reject(away) }));
  await expect(log.write(begin)).rejects.toBe(away);
  expect(now()).toBeGreaterThanOrEqual(clock.validUntil);
  // The state has facts that are not in the log, so no further facts may be derived from the state.
  await expect(log.write(() => ({ dueAt: null }))).rejects.toBe(away);
  expect(await memory.read(SESSION)).toHaveLength(2);
});

test("the append of the last facts also releases the lease", async () => {
  const { log, memory } = await driven();
  await log.write((batch) => {
    begin(batch);
    return { dueAt: null };
  });
  expect(log.released).toBe(true);
  const claim = await memory.claim({ owner: "another", leaseMs: LEASE_MS, sessionId: SESSION });
  expect(claim.kind).not.toBe("busy");
});

test("listeners are called for events of other writers, and not for events that this driver log wrote", async () => {
  const { log, append } = await driven();
  let news = 0;
  const stop = log.onNews(() => (news += 1));
  await log.write(begin);
  expect([news, log.isBehind]).toEqual([0, false]);
  await append([prompt("two")]);
  expect([news, log.isBehind]).toEqual([1, true]);
  await log.catchUp();
  expect(log.isBehind).toBe(false);
  expect(log.state.queue.map(({ content }) => content)).toEqual(["two"]);
  stop();
});

test("an event that another writer appends while a driver log reads new events is still reported as new", async () => {
  let arrive: (() => Promise<void>) | undefined;
  const { log, append } = await driven((store) => ({
    ...store,
    async read(...call) {
      const events = await store.read(...call);
      await arrive?.();
      return events;
    },
  }));
  const stop = log.onNews(() => {});
  await append([prompt("two")]);
  arrive = async () => {
    arrive = undefined;
    await append([prompt("three")]);
  };
  await log.catchUp();
  expect(log.isBehind).toBe(true);
  await log.catchUp();
  expect(log.state.queue).toHaveLength(3);
  stop();
});
