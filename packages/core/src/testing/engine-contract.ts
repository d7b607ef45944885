import { createIds } from "@skein/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Engine } from "../ports/engine.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import { type Parking, createParking } from "../run/parking.ts";
import { type CountingOptions, type CountingRuntime, createCountingRuntime } from "./engine/counting-runtime.ts";
import { type Script, createScript } from "./script.ts";

/** An engine with a store for one test. */
export interface EngineUnderTest {
  readonly store: Store;
  /** The engine of one process. The contract starts and stops it. */
  readonly engine: (parts: {
    readonly store: Store;
    readonly runtime: Runtime;
    readonly owner: string;
    readonly leaseMs: number;
    readonly concurrency: number;
    readonly isShared: () => boolean;
    readonly report: (error: unknown) => void;
  }) => Promise<Engine>;
  /** Closes the resources of the engines. The contract stops the engines first. */
  readonly close: () => Promise<void>;
}

interface Worker {
  readonly engine: Engine;
  readonly runtime: CountingRuntime;
  readonly parking: Parking;
}

/** How long something asynchronous may take. */
const SOON = { timeout: 20_000, interval: 10 };

/** Tests every rule of an engine. A new engine is finished when these tests pass. */
export function describeEngine(name: string, open: () => Promise<EngineUnderTest>): void {
  describe(`${name}: engine contract`, { timeout: 60_000 }, () => {
    const ids = createIds();
    let under: EngineUnderTest;
    let store: Store;
    let workers: Worker[] = [];
    let active: Set<string>;
    const problems: unknown[] = [];
    beforeEach(async () => {
      under = await open();
      ({ store } = under);
      workers = [];
      active = new Set();
      problems.length = 0;
    });
    afterEach(async () => {
      await Promise.all(workers.map(({ engine }) => engine.stop()));
      await under.close();
      expect(problems, "no unexpected error was reported").toEqual([]);
    });

    async function worker(
      options: Omit<CountingOptions, "store" | "ids"> & {
        readonly concurrency?: number;
        readonly isShared?: boolean;
        readonly leaseMs?: number;
      } = {},
      wrap: (runtime: Runtime) => Runtime = (runtime) => runtime,
    ): Promise<Worker> {
      const { concurrency = 16, isShared = false, leaseMs = 4000, ...counting } = options;
      const runtime = createCountingRuntime({ store, ids, ...counting }, active);
      const report = (error: unknown): void => void (String(error).includes("poison") || problems.push(error));
      const parking = createParking({ store, now: Date.now, report });
      const engine = await under.engine({
        store,
        runtime: parking.guard(wrap(runtime)),
        owner: `contract/${workers.length + 1}`,
        leaseMs,
        concurrency,
        isShared: () => isShared,
        report,
      });
      const made = { engine, runtime, parking };
      workers.push(made);
      engine.start();
      return made;
    }

    async function session(tenant = "default"): Promise<Script> {
      const script = createScript({ store, ids, tenant });
      await script.create();
      return script;
    }

    const answers = async ({ sessionId }: Script): Promise<number> =>
      (await store.read(sessionId)).filter(({ event_type }) => event_type === "title.generated").length;
    const asleep = async ({ sessionId }: Script): Promise<boolean> =>
      (await store.due({ sessionId, before: Infinity })).length === 0;
    const begun = (): readonly string[] => workers.flatMap(({ runtime }) => runtime.begun);

    test("an engine runs a session that a prompt has woken, and then lets it sleep", async () => {
      await worker();
      const script = await session();
      await script.prompt("hi");
      await expect.poll(() => answers(script), SOON).toBe(1);
      await expect.poll(() => asleep(script), SOON).toBe(true);
    });

    test("an engine runs sessions that were due before it started, and sessions that it is told to wake", async () => {
      const [before, told] = [await session(), await session()];
      await before.prompt("hi");
      const { engine } = await worker();
      await expect.poll(() => answers(before), SOON).toBe(1);
      await told.append([{ event_type: "session.edited", data: { title: "t" } }], { dueAt: 0 });
      engine.wake(told.sessionId);
      await expect.poll(() => begun(), SOON).toContain(told.sessionId);
    });

    test("an engine loses no wake-up and never runs a session twice at the same time, even if prompts arrive while the session falls asleep", async () => {
      await worker();
      await worker();
      const scripts = await Promise.all(Array.from({ length: 6 }, () => session()));
      const prompts = 12;
      await Promise.all(
        scripts.map(async (script, n) => {
          for (let i = 0; i < prompts; i++) {
            await script.prompt(`prompt ${i}`);
            // The delay differs, so that some prompts arrive when the session has just fallen asleep.
            await new Promise((resolve) => setTimeout(resolve, (n * 7 + i * 5) % 20));
          }
        }),
      );
      await expect.poll(() => Promise.all(scripts.map(answers)), SOON).toEqual(scripts.map(() => prompts));
      await expect.poll(async () => (await Promise.all(scripts.map(asleep))).every(Boolean), SOON).toBe(true);
      expect(workers.flatMap(({ runtime }) => runtime.doubled)).toEqual([]);
    });

    test("an engine runs a session at its due time, and not before", async () => {
      let at = 0;
      const { runtime } = await worker({
        nextAt: (_, drives) => (drives === 1 ? (at = Date.now() + 400) : null),
      });
      const script = await session();
      await script.prompt("hi");
      await expect.poll(() => runtime.begun.length, SOON).toBe(2);
      expect(runtime.times[1]).toBeGreaterThanOrEqual(at);
      expect((runtime.times[1] ?? 0) - at).toBeLessThan(3000);
      await expect.poll(() => asleep(script), SOON).toBe(true);
    });

    test("an engine wakes a sleeping session when its run is cancelled", async () => {
      const { runtime } = await worker();
      const script = await session();
      const { runId } = await script.prompt("hi");
      await expect.poll(() => asleep(script), SOON).toBe(true);
      const before = runtime.begun.length;
      const data = { run_id: runId, reason: "no longer needed" };
      await script.append([{ event_type: "cancel.requested", data }], { dueAt: 0 });
      await expect.poll(() => runtime.begun.length, SOON).toBeGreaterThan(before);
      await expect.poll(() => asleep(script), SOON).toBe(true);
    });

    test("an engine runs a session again if its runtime returned without releasing the lease", async () => {
      let failures = 2;
      await worker({ leaseMs: 600 }, (runtime) => ({
        async drive(claimed, signal) {
          if (failures-- > 0) return;
          await runtime.drive(claimed, signal);
        },
      }));
      const script = await session();
      await script.prompt("hi");
      await expect.poll(() => answers(script), SOON).toBe(1);
    });

    test("when an engine stops, it releases its sessions, and another process continues them", async () => {
      const stopped = Promise.withResolvers<void>();
      const first = await worker({
        work: (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
      });
      const script = await session();
      await script.prompt("hi");
      await expect.poll(() => first.runtime.driving(), SOON).toBe(1);
      const second = await worker();
      void first.engine.stop().then(stopped.resolve);
      await stopped.promise;
      expect(first.runtime.driving()).toBe(0);
      await expect.poll(() => answers(script), SOON).toBe(1);
      expect(second.runtime.begun).toContain(script.sessionId);
      expect(workers.flatMap(({ runtime }) => runtime.doubled)).toEqual([]);
    });

    test("an engine never runs more sessions than it has places, and in the end runs all of them", async () => {
      const { runtime } = await worker({
        concurrency: 2,
        work: () => new Promise((resolve) => setTimeout(resolve, 20)),
      });
      const scripts = await Promise.all(Array.from({ length: 10 }, () => session()));
      await Promise.all(scripts.map((script) => script.prompt("hi")));
      await expect.poll(() => Promise.all(scripts.map(answers)), SOON).toEqual(scripts.map(() => 1));
      expect(runtime.most()).toBe(2);
    });

    test("a tenant with one session waits for only a few sessions of a tenant with many sessions", async () => {
      const gate = Promise.withResolvers<void>();
      const { runtime } = await worker({ concurrency: 1, work: () => gate.promise });
      const many = await Promise.all(Array.from({ length: 16 }, () => session("many")));
      for (const script of many) await script.prompt("hi");
      await expect.poll(() => runtime.driving(), SOON).toBe(1);
      const one = await session("one");
      await one.prompt("hi");
      await expect
        .poll(async () => (await store.due({ sessionId: one.sessionId, before: Date.now() })).length, SOON)
        .toBe(1);
      // The engine gets the wake-up of `one` in this time.
      await new Promise((resolve) => setTimeout(resolve, 300));
      gate.resolve();
      await expect.poll(() => Promise.all([one, ...many].map(answers)), SOON).toEqual([one, ...many].map(() => 1));
      expect(runtime.begun.indexOf(one.sessionId)).toBeLessThan(5);
    });

    test("an engine keeps places free for a new tenant while another tenant floods it with long sessions", async () => {
      const gate = Promise.withResolvers<void>();
      const held = new Set<string>();
      const { runtime, engine } = await worker({
        concurrency: 8,
        isShared: true,
        work: (sessionId) => (held.has(sessionId) ? gate.promise : undefined),
      });
      const many = await Promise.all(Array.from({ length: 16 }, () => session("many")));
      for (const { sessionId } of many) held.add(sessionId);
      for (const script of many) await script.prompt("hi");
      await expect.poll(() => runtime.driving(), SOON).toBe(6);
      await expect.poll(() => engine.queue().waiting, SOON).toBe(10);
      const one = await session("one");
      await one.prompt("hi");
      await expect.poll(() => answers(one), SOON).toBe(1);
      expect(runtime.driving()).toBe(6);
      gate.resolve();
      await expect.poll(() => Promise.all(many.map(answers)), SOON).toEqual(many.map(() => 1));
      expect(runtime.most()).toBeLessThanOrEqual(8);
    });

    test("an engine runs other sessions while one session is always due", async () => {
      let busy: string | undefined;
      const { runtime } = await worker({
        concurrency: 1,
        nextAt: (sessionId) => (sessionId === busy ? Date.now() : null),
        work: () => new Promise((resolve) => setTimeout(resolve, 2)),
      });
      const endless = await session();
      busy = endless.sessionId;
      await endless.prompt("hi");
      await expect.poll(() => runtime.begun.length, SOON).toBeGreaterThan(2);
      const other = await session("other");
      await other.prompt("hi");
      await expect.poll(() => answers(other), SOON).toBe(1);
      busy = undefined;
    });

    test("a session that fails five times in a worker is parked, listed, and can be retried or discarded", async () => {
      const poisoned = [await session(), await session()];
      let isPoisoned = true;
      const { parking, runtime } = await worker({}, (inner) => ({
        async drive(claimed, signal) {
          if (isPoisoned && poisoned.some(({ sessionId }) => sessionId === claimed.lease.sessionId))
            throw new Error("The poison in it.");
          await inner.drive(claimed, signal);
        },
      }));
      for (const script of poisoned) await script.prompt("hi");
      const healthy = await session();
      await healthy.prompt("hi");
      await expect.poll(() => answers(healthy), SOON).toBe(1);
      const parked = async () => (await parking.list("default")).items;
      await expect.poll(async () => (await parked()).length, SOON).toBe(2);
      expect((await parked())[0]).toMatchObject({ attempts: 5, problem: "The poison in it.", tenant: "default" });
      expect(await Promise.all(poisoned.map(asleep))).toEqual([true, true]);
      const [again, given] = poisoned as [Script, Script];
      isPoisoned = false;
      await parking.retry("default", again.sessionId);
      await parking.discard("default", given.sessionId);
      await expect.poll(() => answers(again), SOON).toBe(1);
      expect(await parked()).toEqual([]);
      await expect(parking.retry("default", given.sessionId)).rejects.toMatchObject({ code: "not_found" });
      expect(await answers(given)).toBe(0);
      expect(runtime.begun).not.toContain(given.sessionId);
    });
  });
}
