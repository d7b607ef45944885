import { describe, expect, test } from "vitest";
import { type FairQueue, type GiveBack, createFairQueue } from "@skein/core";

/** Lets waiting promises continue. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Returns functions that ask for places and give them back. `served` has the tenants in the order in which they got
 * places, and `held` has the places that were not given back.
 */
function line(queue: FairQueue) {
  const served: string[] = [];
  const held: { readonly name: string; readonly giveBack: GiveBack }[] = [];
  return {
    served,
    held,
    ask(tenant: string, count = 1, size = 1): void {
      for (let each = 0; each < count; each++)
        void (async () => {
          const giveBack = await queue.take(tenant, { size });
          if (!giveBack) return;
          served.push(tenant);
          held.push({ name: tenant, giveBack });
        })();
    },
    async endOne(tenant?: string): Promise<void> {
      const at = held.findIndex(({ name }) => tenant === undefined || name === tenant);
      held.splice(at, 1)[0]?.giveBack();
      await settle();
    },
  };
}

describe("a fair queue", () => {
  test("a fair queue gives all its places to the only tenant", async () => {
    const queue = createFairQueue({ places: 4 });
    const { ask, served } = line(queue);
    ask("a", 6);
    await settle();
    expect(served).toHaveLength(4);
    expect(queue.figures()).toEqual({ places: 4, taken: 4, waiting: 2, tenants: 1 });
  });

  test("in a shared fair queue, a tenant gets at most three places for every place that stays free", async () => {
    const queue = createFairQueue({ places: 64, isShared: () => true });
    const { ask, served } = line(queue);
    ask("a", 200);
    await settle();
    expect(served).toHaveLength(48);
    ask("b", 200);
    await settle();
    expect(served.filter((tenant) => tenant === "b")).toHaveLength(12);
    ask("c");
    await settle();
    expect(served.at(-1)).toBe("c");
  });

  test.each([1, 2, 3, 4, 8, 32, 64])(
    "a fair queue leaves one of %i places for a new tenant, or gives the new tenant the next place that becomes free",
    async (places) => {
      const queue = createFairQueue({ places, isShared: () => true });
      const { ask, served, endOne } = line(queue);
      ask("a", 500);
      await settle();
      ask("b");
      await settle();
      if (places === 1) await endOne("a");
      expect(served.at(-1)).toBe("b");
    },
  );

  test("a fair queue serves tenants in turns, so that no tenant waits for the whole backlog of another", async () => {
    const queue = createFairQueue({ places: 1 });
    const { ask, served, endOne } = line(queue);
    ask("a", 50);
    ask("b", 2);
    ask("c", 1);
    await settle();
    for (let each = 0; each < 6; each++) await endOne();
    expect(served).toEqual(["a", "b", "c", "a", "b", "a", "a"]);
  });

  test("the tenant with fewer places goes first, even if it came later", async () => {
    const queue = createFairQueue({ places: 3 });
    const { ask, served, endOne } = line(queue);
    ask("a", 3);
    await settle();
    ask("a", 5);
    ask("b", 2);
    await settle();
    await endOne("a");
    await endOne("a");
    expect(served).toEqual(["a", "a", "a", "b"]);
    await endOne("a");
    expect(served).toEqual(["a", "a", "a", "b", "a"]);
  });

  test("small requests wait behind a large request of a tenant without a place", async () => {
    const queue = createFairQueue({ places: 10 });
    const { ask, served, endOne } = line(queue);
    ask("a", 10);
    await settle();
    ask("b", 1, 8);
    ask("a", 20);
    await settle();
    for (let each = 0; each < 8; each++) await endOne("a");
    expect(served.slice(10)).toEqual(["b"]);
  });

  test("a request that is larger than all places together is served alone", async () => {
    const queue = createFairQueue({ places: 4, isShared: () => true });
    const { ask, served, endOne } = line(queue);
    ask("a");
    ask("b", 1, 100);
    await settle();
    expect(served).toEqual(["a"]);
    await endOne();
    expect(served).toEqual(["a", "b"]);
    expect(queue.figures()).toMatchObject({ taken: 4 });
  });

  test("freeing a place twice frees one place", async () => {
    const queue = createFairQueue({ places: 2 });
    const giveBack = await queue.take("a");
    await queue.take("a");
    giveBack?.();
    giveBack?.();
    expect(queue.figures()).toMatchObject({ taken: 1 });
  });

  test("a request that is aborted while waiting leaves the queue, and the next one is served", async () => {
    const queue = createFairQueue({ places: 1 });
    const first = await queue.take("a");
    const stopped = new AbortController();
    const second = queue.take("a", { signal: stopped.signal });
    const third = queue.take("a");
    stopped.abort();
    expect(await second).toBeUndefined();
    first?.();
    expect(await third).toBeTypeOf("function");
    expect(await queue.take("a", { signal: AbortSignal.abort() })).toBeUndefined();
    expect(queue.figures()).toEqual({ places: 1, taken: 1, waiting: 0, tenants: 0 });
  });

  test("tryTake gives no tenant more than its share, and its place goes to a waiting request when it becomes free", async () => {
    const queue = createFairQueue({ places: 4, isShared: () => true });
    const held = [queue.tryTake("a"), queue.tryTake("a"), queue.tryTake("a"), queue.tryTake("a")];
    expect(held.map((giveBack) => giveBack !== undefined)).toEqual([true, true, true, false]);
    expect(queue.tryTake("b")).toBeTypeOf("function");
    const waits = queue.take("c");
    held[0]?.();
    expect(await waits).toBeTypeOf("function");
  });

  test("while hasRoom returns false, requests wait unless every place is free", async () => {
    let room = false;
    const queue = createFairQueue({ places: 8, hasRoom: async () => room });
    const { ask, served, endOne } = line(queue);
    ask("a", 2);
    ask("b", 1);
    await settle();
    expect(served).toEqual(["a"]);
    await endOne();
    expect(served).toEqual(["a", "b"]);
    room = true;
    await endOne();
    expect(served).toEqual(["a", "b", "a"]);
  });
});
