import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Claim, DueQuery, Lease, Store } from "../ports/store.ts";
import { type StoreFixture, type StoreExceptions, withReason } from "./store-fixture.ts";

const edited = { event_type: "session.edited" as const, data: { title: "t" } };
const title = { event_type: "title.generated" as const, data: { title: "t" } };

function leaseOf(claim: Claim): Lease {
  if (claim.kind !== "leased") throw new Error(`Expected a lease, but got ${claim.kind}.`);
  return claim.lease;
}

/**
 * Tests which worker may run a session. The clock is real, so the tests wait for conditions and not for fixed times.
 */
export function describeLeases(fixture: () => StoreFixture, cannot: StoreExceptions): void {
  const claim = (leaseMs = 60_000, owner = "w", store: Store = fixture().store) => store.claim({ owner, leaseMs });

  /** Waits for the lease of a session that is due or whose lease has expired. */
  async function nextLease(owner: string, store: Store = fixture().store): Promise<Lease> {
    for (;;) {
      const found = await claim(60_000, owner, store);
      if (found.kind === "leased") return found.lease;
      await sleep(5);
    }
  }

  test("a claim that names no session does not get a session that was never woken", async () => {
    await fixture().created();
    expect(await claim()).toEqual({ kind: "none", nextAt: null });
  });

  test("the append that creates a session can take its lease, and only the creator gets the lease", async () => {
    const [first] = await fixture().store.read((await fixture().created()).sessionId);
    if (first?.event_type !== "session.created") throw new Error("A log begins with session.created.");
    const { ids, store } = fixture();
    const [sessionId, id] = [ids(), ids()];
    const begin = [{ id, event_type: first.event_type, data: first.data }];
    const options = { expect: 0, dueAt: 0, claim: { owner: "beginner", leaseMs: 60_000 } };
    expect(await store.append(sessionId, begin, options)).toMatchObject({ repeated: false });
    expect((await claim()).kind).toBe("none");
    expect(await store.claim({ owner: "w", leaseMs: 60_000, sessionId })).toMatchObject({ kind: "busy" });
    expect(await store.owners()).toEqual(["beginner"]);
    const lease = { sessionId, fence: 1, owner: "beginner", leaseMs: 60_000 };
    await store.append(sessionId, [{ ...title, id: ids() }], { lease, expect: 1 });
    // Creating the session again returns the existing session, without a second lease.
    expect(await store.append(sessionId, begin, options)).toMatchObject({ repeated: true });
    await store.append(sessionId, [{ ...title, id: ids() }], { lease, expect: 2, release: { dueAt: 0 } });
    expect(leaseOf(await claim())).toMatchObject({ sessionId, fence: 3 });
    const later = store.append(sessionId, [{ ...title, id: ids() }], { claim: options.claim });
    await expect(later).rejects.toMatchObject({ code: expect.stringMatching(/^(invalid|lease_required)$/) });
  });

  test("an append that takes the lease of an idle session may contain facts that need the lease", async () => {
    const { ids, store } = fixture();
    const { sessionId } = await fixture().created();
    const taking = (owner: string, expected: number) =>
      store.append(
        sessionId,
        [
          { ...edited, id: ids() },
          { ...title, id: ids() },
        ],
        {
          tenant: "default",
          expect: expected,
          dueAt: 0,
          claim: { owner, leaseMs: 60_000 },
        },
      );
    expect(await taking("first", 1)).toMatchObject({
      repeated: false,
      fence: 1,
      events: [{ sequence: 2 }, { sequence: 3 }],
    });
    expect(await store.claim({ owner: "w", leaseMs: 60_000, sessionId })).toMatchObject({ kind: "busy" });
    const lease = { sessionId, fence: 1, owner: "first", leaseMs: 60_000 };
    await store.append(sessionId, [{ ...title, id: ids() }], { lease, expect: 3 });
    // A second worker does not get the lease. A worker that has not seen the end of the log does not get it either.
    // Their appends are not stored.
    await expect(taking("second", 4)).rejects.toMatchObject({ code: "conflict" });
    await store.release(lease, { seen: 4, dueAt: null });
    await expect(taking("second", 3)).rejects.toMatchObject({ code: "conflict" });
    expect(await store.read(sessionId)).toHaveLength(4);
    expect(await store.owners()).toEqual([]);
    expect(await taking("second", 4)).toMatchObject({ fence: 3 });
    await expect(store.append(sessionId, [{ ...title, id: ids() }], { lease })).rejects.toMatchObject({
      code: "lease_lost",
    });
    const other = { expect: 6, tenant: "other", claim: { owner: "third", leaseMs: 1 } };
    await expect(store.append(sessionId, [{ ...title, id: ids() }], other)).rejects.toMatchObject({
      code: "not_found",
    });
  });

  test("if several appends take the lease of a session at the same time, exactly one is stored", async () => {
    const { ids, store } = fixture();
    const { sessionId } = await fixture().created();
    const options = (n: number) => ({ expect: 1, dueAt: 0, claim: { owner: `w${n}`, leaseMs: 60_000 } });
    const taken = await Promise.allSettled(
      Array.from({ length: 8 }, (_, n) => store.append(sessionId, [{ ...title, id: ids() }], options(n))),
    );
    expect(taken.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await store.read(sessionId)).toHaveLength(2);
    // An append whose answer was lost can be repeated, and takes no second lease.
    const [{ id, event_type, data }] = (await store.read(sessionId, { after: 1 })) as [never];
    const again = await store.append(sessionId, [{ id, event_type, data }], options(9));
    expect(again).toMatchObject({ repeated: true });
    expect(again.fence).toBeUndefined();
  });

  test("a session that is due is claimed by exactly one of many workers", async () => {
    const script = await fixture().created();
    await script.prompt("hi");
    const claims = await Promise.all(Array.from({ length: 12 }, (_, i) => claim(60_000, `w${i}`)));
    expect(claims.filter(({ kind }) => kind === "leased")).toHaveLength(1);
    expect(claims.find(({ kind }) => kind === "leased")).toMatchObject({
      lease: { sessionId: script.sessionId },
      lastSequence: 2,
    });
  });

  test("several workers claim different sessions, and the sessions that have waited longest come first", async () => {
    const scripts = [await fixture().created(), await fixture().created(), await fixture().created()];
    for (const [i, script] of scripts.entries()) await script.append([edited], { dueAt: 3000 - i });
    const claimed = [leaseOf(await claim()), leaseOf(await claim()), leaseOf(await claim())];
    expect(claimed.map(({ sessionId }) => sessionId)).toEqual(scripts.map(({ sessionId }) => sessionId).toReversed());
    expect((await claim()).kind).toBe("none");
  });

  test("a claim before a session is due returns the due time, and a claim at that time gets the session", async () => {
    const script = await fixture().created();
    const late = Date.now() + 60_000;
    await script.append([edited], { dueAt: late });
    expect(await claim()).toEqual({ kind: "none", nextAt: late });
    const soon = Date.now() + 20;
    await script.append([edited], { dueAt: soon });
    expect((await nextLease("w")).sessionId).toBe(script.sessionId);
    expect(Date.now()).toBeGreaterThanOrEqual(soon);
  });

  test("a store keeps the earlier of two due times of a session", async () => {
    const script = await fixture().created();
    await script.append([edited], { dueAt: 1000 });
    await script.append([edited], { dueAt: Date.now() + 60_000 });
    expect((await claim()).kind).toBe("leased");
  });

  test("a worker can claim a named session, due or not, if no other worker has it", async () => {
    const { sessionId } = await fixture().created();
    const named = () => fixture().store.claim({ owner: "w", leaseMs: 60_000, sessionId });
    const lease = leaseOf(await named());
    const busy = await named();
    expect(busy.kind).toBe("busy");
    expect(busy.kind === "busy" && busy.until > Date.now()).toBe(true);
    await fixture().store.release(lease, { seen: 1, dueAt: null });
    expect((await named()).kind).toBe("leased");
    const unknown = fixture().store.claim({ owner: "w", leaseMs: 1, sessionId: fixture().ids() });
    await expect(unknown).rejects.toMatchObject({ code: "not_found" });
  });

  test("a claim of a named session takes over only a lease that expires soon, and the earlier worker's writes are then rejected", async () => {
    const script = await fixture().created();
    await script.prompt("hi");
    const { sessionId } = script;
    const first = leaseOf(await claim(60_000, "first"));
    const taking = (takeWithinMs: number) =>
      fixture().store.claim({ owner: "second", leaseMs: 60_000, sessionId, takeWithinMs });
    expect((await taking(10_000)).kind).toBe("busy");
    const second = leaseOf(await taking(120_000));
    expect(second).toMatchObject({ sessionId, fence: first.fence + 1 });
    await expect(script.append([title], { lease: first })).rejects.toMatchObject({ code: "lease_lost" });
    await script.append([title], { lease: second });
  });

  test("listing the sessions that wait for a worker claims no session", async () => {
    const { store } = fixture();
    const start = Date.now();
    const [a, b, other] = [
      await fixture().created(),
      await fixture().created(),
      await fixture().created({ tenant: "other" }),
    ];
    for (const [n, script] of [a, b, other].entries())
      await script.append([edited], { dueAt: 1000 * (n + 1), tenant: script === other ? "other" : "default" });
    const ids = async (query: Partial<DueQuery>) =>
      (await store.due({ before: start, ...query })).map(({ sessionId }) => sessionId);
    expect(await store.due({ before: start, limit: 1 })).toEqual([
      { sessionId: a.sessionId, tenant: "default", lastSequence: 2, dueAt: 1000 },
    ]);
    expect(await ids({})).toEqual([a.sessionId, b.sessionId, other.sessionId]);
    expect(await ids({ before: 2000 })).toEqual([a.sessionId, b.sessionId]);
    expect(await ids({ perTenant: 1 })).toEqual([a.sessionId, other.sessionId]);
    const lease = leaseOf(await claim());
    expect(lease.sessionId).toBe(a.sessionId);
    expect(await ids({})).toEqual([b.sessionId, other.sessionId]);
    expect(await ids({ sessionId: a.sessionId })).toEqual([a.sessionId]);
    await store.release(lease, { seen: 2, dueAt: null });
    expect(await ids({ sessionId: a.sessionId, before: Infinity })).toEqual([]);
    const late = start + 60_000;
    await a.append([edited], { dueAt: late });
    expect(await ids({ sessionId: a.sessionId })).toEqual([]);
    expect(await store.due({ sessionId: a.sessionId, before: Infinity })).toMatchObject([{ dueAt: late }]);
  });

  test("a session whose lease has expired goes to another worker, and the first worker's writes are then rejected", async () => {
    const script = await fixture().created();
    await script.prompt("hi");
    const slow = leaseOf(await claim(1, "slow"));
    const fast = await nextLease("fast");
    expect(fast.fence).toBeGreaterThan(slow.fence);
    await expect(script.append([title], { lease: slow })).rejects.toMatchObject({ code: "lease_lost" });
    await expect(fixture().store.release(slow, { seen: 2, dueAt: null })).rejects.toMatchObject({ code: "lease_lost" });
    expect(await fixture().store.renew([slow, fast])).toEqual([slow]);
    expect(await fixture().store.read(script.sessionId)).toHaveLength(2);
    await script.append([title], { lease: fast });
  });

  test("the append of a writer that has released its lease is rejected", async () => {
    const script = await fixture().created();
    const lease = await script.claim();
    await script.append([title], { lease, expect: 1, release: { dueAt: null } });
    await expect(script.append([title], { lease })).rejects.toMatchObject({ code: "lease_lost" });
    await expect(fixture().store.release(lease, { seen: 2, dueAt: null })).rejects.toMatchObject({
      code: "lease_lost",
    });
    expect(await fixture().store.renew([lease])).toEqual([lease]);
  });

  test("a lease is extended by every append of its holder, and by a renewal", async () => {
    const script = await fixture().created();
    await script.prompt("hi");
    const lease = leaseOf(await claim());
    const heldUntil = async (): Promise<number> => {
      const { sessionId } = script;
      const other = await fixture().store.claim({ owner: "other", leaseMs: 60_000, sessionId });
      if (other.kind !== "busy") throw new Error(`Expected a session with a lease, but it is ${other.kind}.`);
      return other.until;
    };
    const claimed = await heldUntil();
    await sleep(5);
    await script.append([title], { lease });
    const appended = await heldUntil();
    expect(appended).toBeGreaterThan(claimed);
    await sleep(5);
    expect(await fixture().store.renew([lease])).toEqual([]);
    expect(await heldUntil()).toBeGreaterThan(appended);
  });

  test("a wake-up that arrives while a session is put to sleep is not lost", async () => {
    const script = await fixture().created();
    await script.prompt("first");
    const lease = leaseOf(await claim());
    await script.prompt("second");
    const asleep = script.append([title], { lease, expect: 2, release: { dueAt: null } });
    await expect(asleep).rejects.toMatchObject({ code: "conflict" });
    await fixture().store.release(lease, { seen: 2, dueAt: null });
    expect((await claim()).kind).toBe("leased");
  });

  test("a session sleeps when its worker has seen all its events", async () => {
    const script = await fixture().created();
    await script.prompt("hi");
    const lease = leaseOf(await claim());
    await fixture().store.release(lease, { seen: 2, dueAt: null });
    expect(await claim()).toEqual({ kind: "none", nextAt: null });
  });

  test("a lease that is released with a due time makes the session due at this time", async () => {
    const script = await fixture().created();
    await script.prompt("hi");
    const lease = leaseOf(await claim());
    const at = Date.now() + 60_000;
    await script.append([title], { lease, expect: 2, release: { dueAt: at } });
    expect(await claim()).toEqual({ kind: "none", nextAt: at });
    await script.prompt("again");
    expect((await claim()).kind).toBe("leased");
  });

  test("a store frees the leases of an owner that is known to be dead", async () => {
    const script = await fixture().created();
    await script.prompt("hi");
    const lease = leaseOf(await claim(60_000, "dead"));
    expect(await fixture().store.owners()).toEqual(["dead"]);
    expect(await fixture().store.owners(lease.sessionId)).toEqual(["dead"]);
    expect(await fixture().store.owners((await fixture().created()).sessionId)).toEqual([]);
    expect(await fixture().store.owners(fixture().ids())).toEqual([]);
    await fixture().store.free("somebody else");
    expect((await claim()).kind).toBe("none");
    await fixture().store.free("dead");
    expect(await fixture().store.owners()).toEqual([]);
    expect((await claim(60_000, "alive")).kind).toBe("leased");
    await expect(script.append([title], { lease })).rejects.toMatchObject({ code: "lease_lost" });
  });

  test.skipIf(cannot.another)(
    withReason("one of two processes gets the session, and the writes of the other are rejected", cannot.another),
    async () => {
      const script = await fixture().created();
      const other = await fixture().another();
      await script.prompt("hi");
      const claims = await Promise.all([claim(60_000, "here"), claim(60_000, "there", other)]);
      expect(claims.filter(({ kind }) => kind === "leased")).toHaveLength(1);
      const first = leaseOf(claims.find(({ kind }) => kind === "leased") as Claim);
      const store = first.owner === "here" ? other : fixture().store;
      await store.free(first.owner);
      const second = await nextLease("next", store);
      const late = fixture().store.append(script.sessionId, [script.event(title)], { lease: first });
      await expect(late).rejects.toMatchObject({ code: "lease_lost" });
      await store.append(script.sessionId, [script.event(title)], { lease: second });
    },
  );
}
