/**
 * The append of a prompt can also take the lease of the session (the right to run it), if the session was reserved
 * before. The reasons are in decision 083 in docs/decisions.
 */
import { type Runtime, createMemoryStore, createStateCache } from "@skein/core";
import { createCountingRuntime, createScript } from "@skein/core/testing";
import { type NewEvent, createIds } from "@skein/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { createLocalEngine } from "../src/engines/local.ts";
import { createReservations } from "../src/engines/reservations.ts";

const ids = createIds();
const claim = { owner: "here", leaseMs: 4000 };

/** Creates an idle session whose state is in memory, and events for the session. */
async function idleSession() {
  const store = createMemoryStore();
  const states = createStateCache({ store });
  const counting = createCountingRuntime({ store, ids });
  const runtime: Runtime = { ...counting, opening: async () => [] };
  const script = createScript({ store, ids });
  await script.create();
  states.put(await states.load(script.sessionId));
  const run_id = ids();
  const data = { message_id: ids(), run_id, mode: "queue" as const, content: "hi", model: null, max_cost_micros: null };
  const prompt: NewEvent = script.event({ event_type: "prompt.accepted", data });
  const cancel = () => script.append([{ event_type: "cancel.requested", data: { run_id, reason: "no" } }]);
  return { store, states, counting, runtime, script, prompt, cancel, sessionId: script.sessionId };
}

async function reserved() {
  const session = await idleSession();
  const { store, states, runtime, prompt, sessionId } = session;
  const reservations = createReservations({ runtime, states, claim, now: Date.now });
  store.onNews(reservations.hear);
  const settled = vi.fn();
  const place = reservations.reserve(sessionId, "default", settled);
  const opening = await place?.opening([prompt]);
  if (!place || !opening) throw new Error("The session was not reserved.");
  const append = async () => {
    const { fence = 0, events } = await store.append(sessionId, [prompt], {
      expect: opening.expect,
      dueAt: Date.now(),
      claim: place.claim,
    });
    return { fence, lastSequence: events.at(-1)?.sequence ?? 0 };
  };
  return { ...session, reservations, place, append, settled };
}

test("if the append of a prompt also takes the lease, the state of the session stays in memory, so that this process runs the session without reading its log", async () => {
  const { states, place, append, settled, sessionId } = await reserved();
  const taken = await append();
  place.settle(taken);
  const lease = { ...claim, sessionId, fence: taken.fence };
  expect(settled).toHaveBeenCalledExactlyOnceWith({
    claimed: { lease, lastSequence: 2 },
    asked: expect.any(Number),
    hasNews: false,
  });
  expect(states.takeKnown(sessionId)?.queue).toHaveLength(1);
});

test("if events arrive after the append of a prompt, the state in memory is not used, and the log must be read", async () => {
  const { states, place, append, settled, cancel, sessionId } = await reserved();
  const taken = await append();
  await cancel();
  place.settle(taken);
  expect(settled).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ claimed: expect.objectContaining({ lastSequence: 2 }), hasNews: true }),
  );
  expect(states.takeKnown(sessionId)).toBeUndefined();
});

test("a notice from another process counts as new events of a reserved session", async () => {
  const { reservations, place, append, settled, sessionId } = await reserved();
  const taken = await append();
  reservations.hear(sessionId, undefined);
  place.settle(taken);
  expect(settled).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ hasNews: true }));
  expect(reservations.has(sessionId)).toBe(false);
});

test("a reserved session cannot be reserved again, and runs after the reservation if its prompt took no lease", async () => {
  const { store, states, counting, runtime, script, sessionId } = await idleSession();
  // Sweeps find nothing, so that only notices of new events wake the session.
  const unswept: typeof store = {
    ...store,
    claim: async (asked) => (asked.sessionId === undefined ? { kind: "none", nextAt: null } : store.claim(asked)),
  };
  const engine = createLocalEngine({ store: unswept, runtime, states, owner: "here" });
  engine.start();
  onTestFinished(() => engine.stop());
  const place = engine.reserve(sessionId, "default");
  expect(engine.reserve(sessionId, "default")).toBeUndefined();
  await script.prompt("hi");
  await new Promise((resolve) => setImmediate(resolve));
  expect(counting.begun).toEqual([]);
  place?.settle(null);
  await expect.poll(() => counting.begun, { interval: 5 }).toEqual([sessionId]);
  await expect.poll(() => engine.queue().taken, { interval: 5 }).toBe(0);
  expect(engine.reserve(sessionId, "default")).toBeDefined();
});
