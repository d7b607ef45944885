import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { createSimulator } from "@skein/simulator";
import { expect, inject, onTestFinished, test } from "vitest";
import { startEffectsServer } from "../kill/effects-server.ts";
import { kill, runLoopCampaign, startWorker } from "../kill/loop-campaign.ts";
import { createLoopClient } from "../kill/loop-client.ts";
import { type Place, openStore } from "../kill/open-store.ts";
import { createRandom } from "../kill/random.ts";
import { createDatabase } from "../postgres.ts";

const LEASE_MS = 1000;

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "skein-loop-kill-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function postgresPlace(): Promise<Place> {
  const { url, drop } = await createDatabase(inject("postgres").url);
  onTestFinished(drop);
  return { folder: folder(), url };
}

const sqlitePlace = async (): Promise<Place> => ({ folder: folder() });

test.each([
  ["sqlite", "anthropic", sqlitePlace],
  ["sqlite", "openai", sqlitePlace],
  ["sqlite", "openai-compatible", sqlitePlace],
  ["sqlite", "ai-sdk", sqlitePlace],
  ["postgres", "anthropic", postgresPlace],
] as const)(
  "a worker that is killed again and again loses no prompt and repeats no effect on %s, with a model of %s",
  async (store, adapter, place) => {
    const outcome = await runLoopCampaign({
      store,
      adapter,
      place: await place(),
      cycles: 3,
      seed: 7,
      sessions: 6,
      delayMs: [30, 400],
    });
    // Slow starts of processes are ignored, because the machine may be busy.
    expect(outcome.violations.filter(({ invariant }) => invariant !== "resume")).toEqual([]);
    expect(outcome.effects).toBeGreaterThan(0);
  },
  60_000,
);

/** Starts two workers on one database and a client that sends prompts. */
async function twoWorkers(effectMs: number) {
  const place = { folder: folder() };
  const simulator = await createSimulator();
  const effects = await startEffectsServer(() => effectMs);
  const store = await openStore("sqlite", place);
  const asks = { adapter: "anthropic" as const, modelUrl: simulator.url };
  const task = { store: "sqlite" as const, place, ...asks, effectsUrl: effects.url, leaseMs: LEASE_MS };
  const first = await startWorker(task);
  onTestFinished(async () => {
    await kill(first);
    await store.close();
    await effects.close();
    await simulator.close();
  });
  return { task, store, effects, first, client: await createLoopClient(store, 2, createRandom(3)) };
}

test("a dead worker loses its session within its lease plus 1.5 s, and a second worker continues the session", async () => {
  const { task, store, effects, first, client } = await twoWorkers(300);
  await client.feed();
  const second = await startWorker(task);
  onTestFinished(() => kill(second));
  await expect.poll(() => effects.effects.length).toBeGreaterThan(0);
  const holder = effects.effects[0]?.by === String(first.pid) ? first : second;
  await kill(holder);
  const killed = Date.now();
  const owned = async (): Promise<boolean> => (await store.owners()).some((owner) => owner.includes(`/${holder.pid}/`));
  await expect.poll(owned, { timeout: LEASE_MS + 1500, interval: 20 }).toBe(false);
  expect(Date.now() - killed).toBeLessThan(LEASE_MS + 1500);
  await expect.poll(() => client.finished()).toBe(true);
});

/**
 * Stops a worker at a moment when the worker does not hold SQLite's write lock. Otherwise no other worker could write.
 */
async function pauseOutsideOfTransaction(worker: ChildProcess, file: string): Promise<void> {
  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  for (;;) {
    worker.kill("SIGSTOP");
    await expect.poll(() => readFileSync(`/proc/${worker.pid}/stat`, "utf8")).toMatch(/\) T /);
    try {
      database.exec("begin immediate; rollback");
      return;
    } catch {
      worker.kill("SIGCONT");
      await sleep(5);
    }
  }
}

test("a worker writes nothing after a pause that was longer than its lease", async () => {
  const { task, store, effects, first, client } = await twoWorkers(50);
  await client.feed();
  await expect.poll(() => effects.effects.length).toBeGreaterThan(0);
  await pauseOutsideOfTransaction(first, join(task.place.folder, "skein.db"));
  await sleep(LEASE_MS + 200);
  const second = await startWorker(task);
  onTestFinished(() => kill(second));
  await expect.poll(() => client.finished()).toBe(true);
  const counts = (): Promise<number[]> =>
    Promise.all(client.sessionIds.map(async (id) => (await store.read(id)).length));
  const before = await counts();
  first.kill("SIGCONT");
  await sleep(1500);
  expect(await counts()).toEqual(before);
  // The stopped worker may still finish an effect that it had begun. The other worker must not have repeated this
  // effect.
  const once = effects.effects.filter(({ policy }) => policy === "once").map(({ toolUseId }) => toolUseId);
  expect(new Set(once).size).toBe(once.length);
});
