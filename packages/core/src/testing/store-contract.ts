import { type Event, type Fact, type NewEvent, createIds } from "@skein/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Store } from "../ports/store.ts";
import { type StoreFixture, type StoreExceptions, type StoreUnderTest, withReason } from "./store-fixture.ts";
import { describeFollowing } from "./following-contract.ts";
import { describeLeases } from "./lease-contract.ts";
import { naughtyText } from "./naughty-text.ts";
import { describeLists } from "./list-contract.ts";
import { describeProjections } from "./projection-contract.ts";
import { describeRecords } from "./records-contract.ts";
import { createScript } from "./script.ts";
import { describeTenantLists } from "./tenant-list-contract.ts";

/** Tests every rule of a store. A new store is finished when these tests pass. */
export function describeStore(name: string, open: () => Promise<StoreUnderTest>, cannot: StoreExceptions = {}): void {
  describe(`${name}: store contract`, () => {
    let fixture: StoreFixture;
    let opened: Store[];
    beforeEach(async () => {
      const under = await open();
      const ids = createIds();
      opened = [under.store];
      const current = (): Store => opened[0] as Store;
      const script: StoreFixture["script"] = (options = {}) => createScript({ store: current(), ids, ...options });
      fixture = {
        under,
        ids,
        get store() {
          return current();
        },
        script,
        async created(options = {}) {
          const created = script(options);
          await created.create();
          return created;
        },
        async another() {
          const store = await under.another?.();
          if (!store) throw new Error("This store has no `another`: give the reason in the call of describeStore.");
          opened.push(store);
          return store;
        },
        async reopen() {
          const store = await under.reopen?.();
          if (!store) throw new Error("This store has no `reopen`: give the reason in the call of describeStore.");
          opened[0] = store;
          return store;
        },
      };
    });
    afterEach(async () => {
      for (const store of opened) await store.close();
      await fixture.under.cleanup?.();
    });

    describeAppending(() => fixture);
    describeReading(() => fixture, cannot);
    describeLeases(() => fixture, cannot);
    describeFollowing(() => fixture, cannot);
    describeProjections(() => fixture);
    describeLists(() => fixture);
    describeTenantLists(() => fixture, cannot);
    describeRecords(name, () => fixture.store.records);
  });
}

const edited = (title: string) => ({ event_type: "session.edited" as const, data: { title } });

function describeAppending(fixture: () => StoreFixture): void {
  test("a store numbers events from 1 without gap or repeat, however many writers append at the same time", async () => {
    const { sessionId, event } = await fixture().created();
    const appends = Array.from({ length: 30 }, () =>
      fixture().store.append(sessionId, [event(edited("a")), event(edited("b"))]),
    );
    const answered = (await Promise.all(appends)).flatMap(({ events }) => events.map(({ sequence }) => sequence));
    const stored = (await fixture().store.read(sessionId)).map(({ sequence }) => sequence);
    expect(stored).toEqual(Array.from({ length: 61 }, (_, i) => i + 1));
    expect(answered.toSorted((a, b) => a - b)).toEqual(stored.slice(1));
  });

  test("an append returns its events in the same form as a later read", async () => {
    const { sessionId, event } = await fixture().created();
    const { events } = await fixture().store.append(sessionId, [event(edited("a")), event(edited("b"))]);
    expect(events).toEqual((await fixture().store.read(sessionId)).slice(1));
    expect(Object.keys(events[0] as Event).toSorted()).toEqual(
      ["created_at", "data", "event_type", "id", "sequence", "session_id"].toSorted(),
    );
  });

  test("a store rejects an append as a whole if the log does not end where the writer expects", async () => {
    const { sessionId, event } = await fixture().created();
    const append = fixture().store.append(sessionId, [event(edited("a"))], { expect: 2 });
    await expect(append).rejects.toMatchObject({ code: "conflict", details: { expected: 2, actual: 1 } });
    const nowhere = fixture().store.append(sessionId, [event(edited("a"))], { expect: Number.MAX_SAFE_INTEGER });
    await expect(nowhere).rejects.toMatchObject({ code: "conflict", details: { actual: 1 } });
    await fixture().store.append(sessionId, [event(edited("b"))], { expect: 1 });
    expect(await fixture().store.read(sessionId)).toHaveLength(2);
  });

  test("if many writers expect the same end of the log, exactly one succeeds", async () => {
    const { sessionId, event } = await fixture().created();
    const tries = Array.from({ length: 10 }, () =>
      fixture().store.append(sessionId, [event(edited("a"))], { expect: 1 }),
    );
    const settled = await Promise.allSettled(tries);
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await fixture().store.read(sessionId)).toHaveLength(2);
  });

  test("a store creates a session once", async () => {
    const script = await fixture().created();
    await expect(script.create()).rejects.toMatchObject({ code: "conflict" });
  });

  test("a store returns the stored events for repeated ids, even if the log has grown", async () => {
    const { sessionId, event, append } = await fixture().created();
    const events = [event(edited("a")), event(edited("b"))];
    const first = await fixture().store.append(sessionId, events, { expect: 1 });
    await append([edited("c")]);
    const again = await fixture().store.append(sessionId, events, { expect: 1 });
    expect(again).toEqual({ events: first.events, repeated: true });
    expect(await fixture().store.read(sessionId)).toHaveLength(4);
  });

  test("a store returns stored events for repeated ids only to the session's tenant", async () => {
    const { sessionId, event } = await fixture().created();
    const events = [event(edited("a"))];
    await fixture().store.append(sessionId, events, { tenant: "default" });
    const theirs = fixture().store.append(sessionId, events, { tenant: "theirs" });
    await expect(theirs).rejects.toMatchObject({ code: "not_found" });
  });

  test("a store stores events with the same ids once, even if many writers append them at the same time", async () => {
    const { sessionId, event } = await fixture().created();
    const events = [event(edited("a"))];
    const answers = await Promise.all(Array.from({ length: 20 }, () => fixture().store.append(sessionId, events)));
    expect(new Set(answers.map((answer) => answer.events[0]?.sequence))).toEqual(new Set([2]));
    expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(await fixture().store.read(sessionId)).toHaveLength(2);
  });

  test("a store stores one append per idempotency key, however many appends arrive at the same time", async () => {
    const { sessionId, event } = await fixture().created();
    const key = { id: "k1", fingerprint: "f" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        fixture().store.append(sessionId, [event(edited("a"))], { tenant: "default", key }),
      ),
    );
    expect(new Set(answers.map((answer) => answer.events[0]?.id)).size).toBe(1);
    expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(await fixture().store.read(sessionId)).toHaveLength(2);
  });

  test("a store rejects an idempotency key that was used for another request", async () => {
    const { sessionId, event } = await fixture().created();
    const append = (fingerprint: string) =>
      fixture().store.append(sessionId, [event(edited("a"))], { tenant: "default", key: { id: "k2", fingerprint } });
    await append("f");
    await expect(append("g")).rejects.toMatchObject({ code: "key_reused" });
    expect(await fixture().store.read(sessionId)).toHaveLength(2);
  });

  test("a store returns the existing session for a repeated creation with a key, separately for each tenant", async () => {
    const key = { id: "create", fingerprint: "f" };
    const created = async (tenant: string): Promise<string> => {
      const script = fixture().script({ tenant });
      await script.create();
      const [first] = await fixture().store.read(script.sessionId);
      const { events } = await fixture().store.append(
        fixture().ids(),
        [
          script.event({
            event_type: "session.created",
            data: (first as Extract<Event, { event_type: "session.created" }>).data,
          }),
        ],
        { expect: 0, key },
      );
      return events[0]?.session_id ?? "";
    };
    const [mine, theirs] = [await created("a"), await created("b")];
    expect(await created("a")).toBe(mine);
    expect(await created("b")).toBe(theirs);
    expect(mine).not.toBe(theirs);
  });

  test("a store rejects a fact that needs a lease if its append has no lease", async () => {
    const { sessionId, event } = await fixture().created();
    const title = event({ event_type: "title.generated", data: { title: "t" } });
    await expect(fixture().store.append(sessionId, [title])).rejects.toMatchObject({ code: "lease_required" });
  });

  test("a store creates a fork or an import with all its facts in one append, and only once", async () => {
    const { store, ids } = fixture();
    const script = await fixture().created();
    const [created] = await store.read(script.sessionId);
    const facts = (title: string): NewEvent[] => [
      { ...(created as Extract<Event, { event_type: "session.created" }>), id: ids() },
      script.event({ event_type: "title.generated", data: { title } }),
      script.event({ event_type: "transcript.appended", data: { entries: [{ type: "user" }], subpath: null } }),
    ];
    const sessionId = ids();
    await store.append(sessionId, facts("Adopted"), { expect: 0 });
    expect((await store.read(sessionId)).map(({ event_type }) => event_type)).toEqual(
      facts("").map(({ event_type }) => event_type),
    );
    expect(await store.get(sessionId)).toMatchObject({ title: "Adopted" });
    await expect(store.append(sessionId, facts("Again"), { expect: 0 })).rejects.toMatchObject({ code: "conflict" });
    expect(await store.read(sessionId)).toHaveLength(3);
  });

  test("a store rejects an empty append, and an append that releases the lease without `expect`", async () => {
    const script = await fixture().created();
    await expect(script.append([])).rejects.toMatchObject({ code: "invalid" });
    const lease = await script.claim();
    await expect(script.append([edited("a")], { lease, release: { dueAt: null } })).rejects.toMatchObject({
      code: "invalid",
    });
  });

  test("a session that was never created, or that belongs to another tenant, is not found", async () => {
    const { store, ids } = fixture();
    const theirs = await fixture().created({ tenant: "theirs" });
    for (const [id, tenant] of [
      [ids(), "default"],
      [theirs.sessionId, "mine"],
    ] as const) {
      const refused = [
        () => store.append(id, [theirs.event(edited("x"))], { tenant }),
        () => store.read(id, { tenant }),
        () => store.messages(id, { tenant }),
        () => store.runs(id, { tenant }),
        () => store.awaits(id, { tenant }),
        () => store.checkpoints(id, { tenant }),
        () => store.delete(id, { tenant }),
        () => store.follow(id, { tenant }, AbortSignal.timeout(5000))[Symbol.asyncIterator]().next(),
      ];
      for (const attempt of refused) await expect(attempt()).rejects.toMatchObject({ code: "not_found" });
      expect(await store.get(id, { tenant })).toBeUndefined();
    }
    expect(await store.read(theirs.sessionId)).toHaveLength(1);
  });
}

function describeReading(fixture: () => StoreFixture, cannot: StoreExceptions): void {
  test("a store returns the data of an event unchanged: unusual text, key order, numbers, prototypes", async () => {
    const { sessionId, append } = await fixture().created();
    const metadata = JSON.parse(
      '{"z":1,"__proto__":{"admin":true},"a":[1.5,-0,1e21,null,{"constructor":{"prototype":{}}}]}',
    );
    metadata.text = naughtyText;
    await append([{ event_type: "session.edited", data: { metadata } }]);
    const [, event] = await fixture().store.read(sessionId);
    expect(JSON.stringify(event?.data)).toBe(JSON.stringify({ metadata }));
    expect(({} as Record<string, unknown>)["admin"]).toBeUndefined();
  });

  test.each([
    ["just under the limit for bodies in the log", 200_000],
    ["over this limit", 300_000],
    ["10 MB", 10_000_000],
  ])("a store stores a body that is %s", async (_, length) => {
    const script = await fixture().created();
    const text = `${"\0\ud800é".repeat(10)}${"x".repeat(length)}`;
    const { messageId } = await script.prompt(text);
    const [, event] = await fixture().store.read(script.sessionId);
    const { content, message_id } = (event as Extract<Event, { event_type: "prompt.accepted" }>).data;
    expect(content === text).toBe(true);
    expect(message_id).toBe(messageId);
  });

  test("a store reads any range of a log", async () => {
    const { sessionId, append } = await fixture().created();
    await append(Array.from({ length: 9 }, (_, i) => edited(String(i))));
    const sequences = async (after: number, limit?: number) =>
      (await fixture().store.read(sessionId, { after, ...(limit !== undefined && { limit }) })).map(
        ({ sequence }) => sequence,
      );
    expect(await sequences(7)).toEqual([8, 9, 10]);
    expect(await sequences(2, 3)).toEqual([3, 4, 5]);
    expect(await sequences(10)).toEqual([]);
    expect(await sequences(99)).toEqual([]);
  });

  test("a store scans every event of every session in order, and can begin after any event", async () => {
    const scripts = await Promise.all([
      fixture().created(),
      fixture().created(),
      fixture().created({ tenant: "other" }),
    ]);
    for (const script of scripts) await script.append([edited("a"), edited("b")]);
    const all: Event[] = [];
    for await (const event of fixture().store.scan()) all.push(event);
    expect(all).toHaveLength(9);
    const places = all.map(({ session_id, sequence }) => `${session_id}/${sequence}`);
    expect(places).toEqual(places.toSorted());
    const middle = all[4] as Event;
    const rest: Event[] = [];
    for await (const event of fixture().store.scan({ sessionId: middle.session_id, sequence: middle.sequence }))
      rest.push(event);
    expect(rest).toEqual(all.slice(5));
  });

  test("a store keeps the latest snapshot of a session until the session is deleted", async () => {
    const { sessionId } = await fixture().created();
    expect(await fixture().store.readSnapshot(sessionId)).toBeUndefined();
    const snapshot = { sequence: 1, version: 1, state: JSON.stringify({ text: naughtyText }) };
    await fixture().store.writeSnapshot(sessionId, snapshot);
    await fixture().store.writeSnapshot(sessionId, { ...snapshot, sequence: 2 });
    expect(await fixture().store.readSnapshot(sessionId)).toEqual({ ...snapshot, sequence: 2 });
    await fixture().store.delete(sessionId);
    expect(await fixture().store.readSnapshot(sessionId)).toBeUndefined();
  });

  test("a store deletes the events, the row and the messages of a session, and keeps other sessions", async () => {
    const script = fixture().script();
    await script.create();
    await script.toolTurn("How much is 2+2?");
    const other = await fixture().created();
    await fixture().store.delete(script.sessionId);
    expect(await fixture().store.get(script.sessionId)).toBeUndefined();
    await expect(fixture().store.messages(script.sessionId)).rejects.toMatchObject({ code: "not_found" });
    const left = new Set<string>();
    for await (const { session_id } of fixture().store.scan()) left.add(session_id);
    expect(left).toEqual(new Set([other.sessionId]));
  });

  test("a closed store rejects calls with the error code `closed`", async () => {
    const { sessionId } = await fixture().created();
    await fixture().store.close();
    await expect(fixture().store.read(sessionId)).rejects.toMatchObject({ code: "closed" });
  });

  test("an append that is in progress when the store closes is either stored or rejected", async () => {
    const scripts = await Promise.all(Array.from({ length: 8 }, () => fixture().created()));
    const title: Fact = { event_type: "session.edited", data: { title: "late" } };
    const appends = scripts.map((script) => fixture().store.append(script.sessionId, [script.event(title)]));
    const appended = Promise.allSettled(appends);
    await fixture().store.close();
    const answers = await appended;
    for (const answer of answers)
      if (answer.status === "rejected") expect(answer.reason).toMatchObject({ code: "closed" });
    if (cannot.reopen !== undefined) return;
    await fixture().reopen();
    for (const [index, { sessionId }] of scripts.entries())
      if (answers[index]?.status === "fulfilled") expect((await fixture().store.get(sessionId))?.title).toBe("late");
  });

  test.skipIf(cannot.reopen)(
    withReason("a store finds everything again after it was closed and opened", cannot.reopen),
    async () => {
      const script = fixture().script();
      await script.create({ title: "kept", tags: ["a"] });
      await script.toolTurn("How much is 2+2?");
      const big = await script.prompt("x".repeat(300_000));
      await fixture().store.records.put([{ tenant: "t", kind: "k", id: "i", value: { naughtyText } }]);
      const look = async () => ({
        events: await fixture().store.read(script.sessionId),
        session: await fixture().store.get(script.sessionId),
        messages: await fixture().store.messages(script.sessionId),
        runs: await fixture().store.runs(script.sessionId),
        record: await fixture().store.records.get("t", "k", "i"),
      });
      const before = await look();
      await fixture().reopen();
      expect(await look()).toEqual(before);
      const claimed = await fixture().store.claim({ owner: "w", leaseMs: 1000 });
      expect(claimed).toMatchObject({ kind: "leased", lease: { sessionId: script.sessionId } });
      const again = script.event({ event_type: "session.edited", data: { title: big.runId.slice(0, 8) } });
      const { events } = await fixture().store.append(script.sessionId, [again]);
      expect(events[0]?.sequence).toBe(before.events.length + 1);
    },
  );
}
