import { type Event, isKnownError } from "@skein/protocol";
import { expect, test } from "vitest";
import type { Store } from "../ports/store.ts";
import { type StoreFixture, type StoreExceptions, withReason } from "./store-fixture.ts";

const edited = { event_type: "session.edited" as const, data: { title: "t" } };
const upTo = (n: number, from = 1) => Array.from({ length: n - from + 1 }, (_, i) => i + from);

/** Tests that a follower gets every event of a log once and in order, from any place. */
export function describeFollowing(fixture: () => StoreFixture, cannot: StoreExceptions): void {
  /** Returns the sequences that a follower sees, up to `last`. */
  async function seen(
    sessionId: string,
    last: number,
    { after = 0, store = fixture().store }: { after?: number; store?: Store } = {},
  ) {
    const sequences: number[] = [];
    const stop = new AbortController();
    for await (const { sequence } of store.follow(
      sessionId,
      { after },
      AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]),
    )) {
      sequences.push(sequence);
      if (sequence === last) stop.abort();
    }
    return sequences;
  }

  test("a follower replays a log, and then follows it live, with many concurrent writers", async () => {
    const script = await fixture().created();
    await script.append([edited, edited]);
    const readers = [seen(script.sessionId, 53), seen(script.sessionId, 53, { after: 2 })];
    await Promise.all(Array.from({ length: 25 }, () => script.append([edited, edited])));
    expect(await Promise.all(readers)).toEqual([upTo(53), upTo(53, 3)]);
  });

  test("each of 100 followers gets every event", async () => {
    const script = await fixture().created();
    const readers = Array.from({ length: 100 }, () => seen(script.sessionId, 21));
    for (let i = 0; i < 20; i++) await script.append([edited]);
    for (const sequences of await Promise.all(readers)) expect(sequences).toEqual(upTo(21));
  });

  test("a follower catches up with a log that is longer than one page", async () => {
    const script = await fixture().created();
    await script.append(Array.from({ length: 2500 }, () => edited));
    expect(await seen(script.sessionId, 2501)).toEqual(upTo(2501));
  });

  test("a follower catches up with a log of large events, and reports when it has caught up", async () => {
    const script = await fixture().created();
    // Each character has two bytes, so the test also finds a limit that confuses bytes with characters.
    const large = { event_type: "session.edited" as const, data: { metadata: { text: "ä".repeat(200_000) } } };
    for (let i = 0; i < 8; i++) await script.append([edited, large]);
    const sequences: number[] = [];
    const caughtUp: number[] = [];
    const stop = new AbortController();
    const onCaughtUp = (): void => {
      caughtUp.push(sequences.length);
      void script.append([edited]);
    };
    const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]);
    for await (const { sequence } of fixture().store.follow(script.sessionId, { onCaughtUp }, signal)) {
      sequences.push(sequence);
      if (sequence === 18) stop.abort();
    }
    expect([sequences, caughtUp]).toEqual([upTo(18), [17]]);
  });

  test("a slow follower misses no event", async () => {
    const script = await fixture().created();
    const stop = new AbortController();
    const events = fixture().store.follow(script.sessionId, {}, stop.signal)[Symbol.asyncIterator]();
    await events.next();
    for (let i = 0; i < 30; i++) await script.append(Array.from({ length: 100 }, () => edited));
    for (let sequence = 2; sequence <= 3001; sequence++) {
      const { value } = (await events.next()) as { value: Event };
      if (value.sequence !== sequence) expect(value.sequence).toBe(sequence);
    }
    stop.abort();
    expect((await events.next()).done).toBe(true);
  });

  test("a follower ends when its signal aborts, even while it waits", async () => {
    const { sessionId } = await fixture().created();
    const stop = new AbortController();
    const sequences: number[] = [];
    setTimeout(() => stop.abort(), 50);
    for await (const { sequence } of fixture().store.follow(sessionId, {}, stop.signal)) sequences.push(sequence);
    expect(sequences).toEqual([1]);
  });

  test("a follower ends when its session is deleted", async () => {
    const { sessionId } = await fixture().created();
    setTimeout(() => void fixture().store.delete(sessionId), 50);
    const sequences: number[] = [];
    for await (const { sequence } of fixture().store.follow(sessionId, {}, AbortSignal.timeout(10_000)))
      sequences.push(sequence);
    expect(sequences).toEqual([1]);
  });

  test("a store reports which sessions have new events", async () => {
    const script = await fixture().created();
    const news: string[] = [];
    const stop = fixture().store.onNews((sessionId) => news.push(sessionId));
    await script.append([edited]);
    await expect.poll(() => news).toContain(script.sessionId);
    stop();
    news.length = 0;
    await script.append([edited]);
    expect(news).toEqual([]);
  });

  test("a follower that is told to read the log again gets no event twice", async () => {
    const script = await fixture().created();
    const news: (readonly unknown[] | undefined)[] = [];
    fixture().store.onNews((sessionId, events) => void (sessionId === script.sessionId && news.push(events)));
    const reader = seen(script.sessionId, 3);
    fixture().store.poke(script.sessionId);
    await script.append([edited]);
    fixture().store.poke(script.sessionId);
    fixture().store.poke(fixture().ids());
    await script.append([edited]);
    expect(await reader).toEqual(upTo(3));
    expect(news.filter((events) => events === undefined).length).toBeGreaterThanOrEqual(2);
  });

  test.skipIf(cannot.another)(
    withReason(
      "a follower gets the events of another process, and a store reports them within half a second",
      cannot.another,
    ),
    async () => {
      const script = await fixture().created();
      const other = await fixture().another();
      const news: string[] = [];
      other.onNews((sessionId) => news.push(sessionId));
      const readers = [seen(script.sessionId, 41, { store: other }), seen(script.sessionId, 41)];
      for (let i = 0; i < 20; i++) {
        await script.append([edited]);
        await other.append(script.sessionId, [script.event(edited)]);
      }
      expect(await Promise.all(readers)).toEqual([upTo(41), upTo(41)]);
      news.length = 0;
      await script.append([edited]);
      await expect.poll(() => news, { timeout: 500, interval: 5 }).toContain(script.sessionId);
    },
  );

  test.skipIf(cannot.another)(
    withReason("a follower ends when another process deletes its session", cannot.another),
    async () => {
      const script = await fixture().created();
      const other = await fixture().another();
      setTimeout(() => void other.delete(script.sessionId), 50);
      const reading = (async () => {
        for await (const _ of fixture().store.follow(script.sessionId, {}, AbortSignal.timeout(10_000)));
        return "ended";
      })();
      expect(await reading.catch((error) => isKnownError(error, "not_found"))).toBe("ended");
    },
  );
}
