import { createHeartbeat } from "@skein/adapters/engines/heartbeat";
import { type Store, type WorkerInfo, createMemoryStore, createWorkers } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { KnownError, createIds } from "@skein/protocol";
import { expect, onTestFinished, test } from "vitest";

const SOON = { interval: 10 };
const ids = createIds();
const info = (owner: string): WorkerInfo => ({
  role: "worker",
  owner,
  runtimes: ["loop"],
  agents: [],
  tools: [],
  skills: [],
  model: "none",
});

/** Creates a worker that watches the heartbeats of other workers. */
function watcher(
  store: Store,
  options: {
    role?: WorkerInfo["role"];
    isDead?: (owner: string) => boolean;
    slowMs?: () => number;
    beatMs?: number;
  } = {},
) {
  const { role = "worker", isDead = () => false, slowMs = () => 0, beatMs } = options;
  const workers = createWorkers(store.records);
  const freed: number[] = [];
  let looks = 0;
  const heartbeat = createHeartbeat({
    store,
    workers: {
      ...workers,
      async beat(worker) {
        const ms = slowMs();
        if (ms === Infinity) throw new KnownError("store_unavailable", "The store is away.");
        if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
        await workers.beat(worker);
      },
    },
    worker: () => ({ ...info("watching/1/1"), role }),
    isDead,
    onFreed: () => freed.push(Date.now()),
    onSeen: () => void (looks += 1),
    report: () => {},
    ...(beatMs !== undefined && { beatMs }),
  });
  heartbeat.start();
  onTestFinished(() => heartbeat.stop());
  return { freed, looks: () => looks, workers };
}

async function leased(store: Store, owner: string, leaseMs: number): Promise<string> {
  const script = createScript({ store, ids });
  await script.create();
  expect(await store.claim({ owner, leaseMs, sessionId: script.sessionId })).toMatchObject({ kind: "leased" });
  return script.sessionId;
}

const isFree = async (store: Store, sessionId: string): Promise<boolean> =>
  (await store.claim({ owner: "next", leaseMs: 1000, sessionId })).kind === "leased";

test("within 2 s, a killed worker of another host loses its leases that end soon, and keeps a longer lease, which protects effects outside the store", async () => {
  const store = createMemoryStore();
  const { workers, looks } = watcher(store);
  await expect.poll(looks, SOON).toBeGreaterThan(0);
  await workers.beat(info("other/1/1"));
  const killed = Date.now();
  const [fenced, claude] = [await leased(store, "other/1/1", 4000), await leased(store, "other/1/1", 30_000)];
  await expect.poll(() => isFree(store, fenced), SOON).toBe(true);
  expect(Date.now() - killed).toBeLessThan(2000);
  expect(await isFree(store, claude)).toBe(false);
});

test("a process of this host that has ended loses every lease at the next check", async () => {
  const store = createMemoryStore();
  const { workers, looks } = watcher(store, { isDead: (owner) => owner === "here/1/1" });
  await expect.poll(looks, SOON).toBeGreaterThan(0);
  const claude = await leased(store, "here/1/1", 30_000);
  await workers.beat(info("here/1/1"));
  const killed = Date.now();
  await expect.poll(() => isFree(store, claude), SOON).toBe(true);
  expect(Date.now() - killed).toBeLessThan(1500);
});

test("an api process removes a dead api process from the list, and leaves a dead worker to other workers", async () => {
  const store = createMemoryStore();
  const { workers, freed, looks } = watcher(store, { role: "api", isDead: () => true, beatMs: 20 });
  const claude = await leased(store, "here/1/1", 30_000);
  await workers.beat(info("here/1/1"));
  await workers.beat({ ...info("here/2/2"), role: "api" });
  const others = async () =>
    (await workers.all()).map(({ owner }) => owner).filter((owner) => owner !== "watching/1/1");
  await expect.poll(others, SOON).toEqual(["here/1/1"]);
  const before = looks();
  await expect.poll(looks, SOON).toBeGreaterThan(before + 2);
  expect(await others()).toEqual(["here/1/1"]);
  expect(await isFree(store, claude)).toBe(false);
  expect(freed).toHaveLength(1);
});

test("while a disk is slow, or the store unavailable, silent workers do not count as dead", async () => {
  const store = createMemoryStore();
  let slow = 400;
  const { workers, looks, freed } = watcher(store, { slowMs: () => slow, beatMs: 40 });
  await workers.beat(info("other/1/1"));
  await expect.poll(looks, SOON).toBe(4);
  // Three checks found no heartbeat, but the silence is shorter than four times the duration of a slow write.
  expect(freed).toEqual([]);
  slow = Infinity;
  await workers.beat(info("other/1/1"));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  expect(freed).toEqual([]);
});
