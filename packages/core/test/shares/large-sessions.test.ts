import {
  LEASE_LOST,
  type Claimed,
  type Runtime,
  createLargeSessions,
  createMemoryStore,
  createStateCache,
  promptAccepted,
  sessionCreated,
} from "@skein/core";
import { scriptedAgent } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { expect, test } from "vitest";

const ids = createIds();
const MIB = 1024 * 1024;
/** Lets waiting promises continue. This is enough, because the store, the states and the queue are in memory. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Creates the limits of a process that has room for 10 MiB of sessions. The runtime's `drive` (the work on one session)
 * ends when the test calls the session's function in `driven`.
 */
function world() {
  const store = createMemoryStore();
  const states = createStateCache({ store });
  const large = createLargeSessions({ store, states, now: Date.now, isShared: () => true, room: 10 * MIB });
  const driven = new Map<string, () => void>();
  const onlyRuns = new Map<string, string | undefined>();
  const runtime: Runtime = {
    async drive({ lease, onlyRun }) {
      onlyRuns.set(lease.sessionId, onlyRun);
      await new Promise<void>((resolve) => driven.set(lease.sessionId, resolve));
      driven.delete(lease.sessionId);
    },
  };
  const bounded = large.bound(runtime);
  return {
    store,
    large,
    driven,
    onlyRuns,
    async claim(tenant: string, size: number): Promise<Claimed> {
      const sessionId = ids();
      const created = { tenant, agent_id: sessionId, agent_version: 1, agent: scriptedAgent, working_directory: null };
      const content = "x".repeat(size);
      const facts = [
        sessionCreated(created),
        promptAccepted({ message_id: ids(), run_id: ids(), mode: "queue", content }),
      ];
      for (const fact of facts) await store.append(sessionId, [{ ...fact, id: ids() }], { dueAt: 0 });
      const claim = await store.claim({ owner: "test", leaseMs: 60_000, sessionId });
      if (claim.kind !== "leased") throw new Error("The session was not claimed.");
      const { lease, lastSequence } = claim;
      return { lease, lastSequence, clock: { validUntil: Infinity }, begins: false, prolong: () => lease };
    },
    async drive(claimed: Claimed, signal = new AbortController().signal): Promise<string> {
      void bounded.drive(claimed, signal);
      await settle();
      return claimed.lease.sessionId;
    },
  };
}

test("large sessions run while there is room, and a session of another tenant runs immediately", async () => {
  const { claim, drive, driven, large } = world();
  const first = await drive(await claim("a", 4 * MIB));
  const second = await drive(await claim("a", 4 * MIB));
  const third = await drive(await claim("a", 4 * MIB));
  const other = await drive(await claim("b", 4 * MIB));
  expect([...driven.keys()]).toEqual([first, other]);
  expect(large.standing(second)).toMatchObject({ place: 1, reason: expect.stringContaining("10 MiB") });
  expect(large.standing(third)).toMatchObject({ place: 2 });
  expect(large.standing(first)).toBeUndefined();
  expect(large.figures()).toMatchObject({ waiting: 2, tenants: 1 });
  driven.get(first)?.();
  await settle();
  expect([...driven.keys()]).toEqual([other, second]);
  expect(large.standing(third)).toMatchObject({ place: 1 });
});

test("a small session never waits for room", async () => {
  const { claim, drive, driven, large } = world();
  await drive(await claim("a", 9 * MIB));
  await drive(await claim("a", 9 * MIB));
  const small = await drive(await claim("a", 1000));
  expect(driven.has(small)).toBe(true);
  expect(large.figures().waiting).toBe(1);
});

test("a session that needs more than all the room runs when no other session runs", async () => {
  const { claim, drive, driven } = world();
  const huge = await drive(await claim("a", 20 * MIB));
  expect(driven.has(huge)).toBe(true);
});

test("sessions whose run is cancelled do not wait for room: their runs are ended one after the other, and they begin no other run", async () => {
  const { claim, drive, driven, onlyRuns, store, large } = world();
  const cancel = (sessionId: string, run_id: string) =>
    store.append(sessionId, [{ event_type: "cancel.requested", data: { run_id, reason: null }, id: ids() }], {});
  const first = await drive(await claim("a", 9 * MIB));
  const waiting = [await drive(await claim("a", 9 * MIB)), await drive(await claim("a", 9 * MIB))] as const;
  const runs = new Map<string, string>();
  for (const sessionId of waiting) {
    const [, prompt] = await store.read(sessionId);
    if (prompt?.event_type !== "prompt.accepted") throw new Error("There is no prompt.");
    runs.set(sessionId, prompt.data.run_id);
    await cancel(sessionId, ids());
  }
  await settle();
  expect([...driven.keys()]).toEqual([first]);
  for (const sessionId of waiting) await cancel(sessionId, runs.get(sessionId) ?? "");
  await settle();
  expect([...driven.keys()]).toEqual([first, waiting[0]]);
  driven.get(waiting[0])?.();
  await settle();
  expect([...driven.keys()]).toEqual([first, waiting[1]]);
  for (const sessionId of waiting) expect(onlyRuns.get(sessionId)).toBe(runs.get(sessionId));
  expect(large.figures().waiting).toBe(0);
});

test.each([
  ["when a server stops, it releases a waiting session, which is then due immediately", undefined, true],
  ["a waiting session whose lease is lost is left to its new owner", LEASE_LOST, false],
])("%s", async (_, reason, isReleased) => {
  const { claim, drive, large, store } = world();
  await drive(await claim("a", 9 * MIB));
  const stop = new AbortController();
  const waiting = await drive(await claim("a", 9 * MIB), stop.signal);
  stop.abort(reason);
  await settle();
  expect(large.figures().waiting).toBe(0);
  const again = await store.claim({ owner: "other", leaseMs: 1000, sessionId: waiting });
  expect(again.kind === "leased").toBe(isReleased);
});
