import { type Event, KnownError } from "@skein/protocol";
import { expect, test } from "vitest";
import { createFollowers } from "../../src/log/followers.ts";

const session = "01890000-0000-7000-8000-000000000001";
const event = (sequence: number): Event => ({
  id: session,
  session_id: session,
  sequence,
  event_type: "title.generated",
  data: { title: String(sequence) },
  created_at: "2026-01-07T12:00:00.000Z",
});
const events = (from: number, to: number): Event[] =>
  Array.from({ length: to - from + 1 }, (_, index) => event(from + index));

/** Creates followers of a log. The test appends to the log, with or without a notice to the followers. */
function bench() {
  const log: Event[] = [];
  let reads = 0;
  const followers = createFollowers({
    read: async (_, after, most) => {
      reads += 1;
      return { events: log.slice(after, after + most.events), full: log.length > after + most.events };
    },
  });
  return {
    followers,
    reads: () => reads,
    silently: (...added: Event[]) => void log.push(...added),
    append(...added: Event[]) {
      log.push(...added);
      followers.deliver(session, added);
    },
  };
}

/** Follows a session until this many events have arrived. */
async function take(iterable: AsyncIterable<Event>, count: number): Promise<number[]> {
  const seen: number[] = [];
  for await (const { sequence } of iterable) if (seen.push(sequence) === count) break;
  return seen;
}

const numbers = (from: number, to: number): number[] => events(from, to).map(({ sequence }) => sequence);
const never = new AbortController().signal;

test("a follower gets the stored events first and then the new ones, without gap or repeat", async () => {
  const { followers, append } = bench();
  append(...events(1, 3));
  const followed = take(followers.follow(session, { after: 0 }, never), 6);
  await Promise.resolve();
  append(event(4));
  append(event(5), event(6));
  expect(await followed).toEqual(numbers(1, 6));
});

test("an event that is appended between subscribing and reading is delivered once", async () => {
  const log = events(1, 2);
  const followers = createFollowers({
    read: async (_, after) => {
      const page = log.slice(after);
      // The append happens during the read: the event is in the queue, and may be on the page too.
      if (log.length === 2) {
        log.push(event(3));
        followers.deliver(session, [event(3)]);
      }
      return { events: page, full: false };
    },
  });
  expect(await take(followers.follow(session, { after: 0 }, never), 3)).toEqual([1, 2, 3]);
});

test("a follower starts after the given sequence", async () => {
  const { followers, append } = bench();
  append(...events(1, 10));
  expect(await take(followers.follow(session, { after: 7 }, never), 3)).toEqual([8, 9, 10]);
});

test("events that were not delivered are read from the store", async () => {
  const { followers, append, silently } = bench();
  append(event(1));
  const followed = take(followers.follow(session, { after: 0 }, never), 4);
  await new Promise((resolve) => setTimeout(resolve, 5));
  silently(event(2), event(3));
  append(event(4));
  expect(await followed).toEqual([1, 2, 3, 4]);
});

test("after a notice of new events, followers read what another process wrote", async () => {
  const { followers, append, silently } = bench();
  append(event(1));
  const followed = take(followers.follow(session, { after: 0 }, never), 2);
  await new Promise((resolve) => setTimeout(resolve, 5));
  silently(event(2));
  followers.poke(session);
  expect(await followed).toEqual([1, 2]);
});

test("a log longer than a page is followed page by page", async () => {
  const { followers, append, reads } = bench();
  append(...events(1, 2500));
  expect(await take(followers.follow(session, { after: 0 }, never), 2500)).toEqual(numbers(1, 2500));
  expect(reads()).toBe(3);
});

test("the queue of a follower that does not keep up stays small, and the follower misses no event", async () => {
  const { followers, append, reads } = bench();
  append(event(1));
  const seen: number[] = [];
  for await (const { sequence } of followers.follow(session, { after: 0 }, never)) {
    seen.push(sequence);
    if (sequence === 1) for (let n = 2; n <= 5000; n++) append(event(n));
    if (sequence === 5000) break;
  }
  expect(seen).toEqual(numbers(1, 5000));
  // The follower read at most 1,000 events at a time from the store, because no queue kept all of them.
  expect(reads()).toBeGreaterThanOrEqual(4);
});

test("large events for a slow follower wait in the store, not in memory", async () => {
  const { followers, append, reads } = bench();
  const large = (sequence: number): Event => ({ ...event(sequence), data: { title: "x".repeat(100_000) } }) as Event;
  append(event(1));
  const seen: number[] = [];
  for await (const { sequence } of followers.follow(session, { after: 0 }, never)) {
    seen.push(sequence);
    if (sequence === 1) for (let n = 2; n <= 500; n++) append(large(n));
    if (sequence === 500) break;
  }
  expect(seen).toEqual(numbers(1, 500));
  // 50 MB were appended while the reader was busy. The reader read them from the store, because no queue kept them in
  // memory.
  expect(reads()).toBeGreaterThan(0);
});

test("an abort ends a follower, while it waits or in the middle of a page", async () => {
  const { followers, append } = bench();
  append(...events(1, 5));
  const waiting = new AbortController();
  const followed = take(followers.follow(session, { after: 5 }, waiting.signal), 1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  waiting.abort();
  expect(await followed).toEqual([]);

  const reading = new AbortController();
  const seen: number[] = [];
  for await (const { sequence } of followers.follow(session, { after: 0 }, reading.signal)) {
    seen.push(sequence);
    if (sequence === 2) reading.abort();
  }
  expect(seen).toEqual([1, 2]);
  expect(await take(followers.follow(session, { after: 0 }, AbortSignal.abort()), 1)).toEqual([]);
});

test("followers that have ended are removed", async () => {
  const { followers, append } = bench();
  append(...events(1, 2));
  const follow = followers.follow(session, { after: 0 }, never);
  expect(followers.followed()).toEqual([]);
  for await (const _event of follow) {
    expect(followers.followed()).toEqual([session]);
    break;
  }
  expect(followers.followed()).toEqual([]);
});

test("the deletion of a session and the closing of the store end followers", async () => {
  const { followers, append } = bench();
  append(event(1));
  const followed = take(followers.follow(session, { after: 1 }, never), 1);
  const other = take(followers.follow("another session", { after: 1 }, never), 1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  followers.end(session);
  expect(await followed).toEqual([]);
  followers.close();
  expect(await other).toEqual([]);
});

test("a follower that has read events ends when its session is deleted, and a follower of an unknown session gets an error", async () => {
  const followers = createFollowers({
    read: async () => {
      throw new KnownError("not_found", "gone");
    },
  });
  expect(await take(followers.follow(session, { after: 5 }, never), 1)).toEqual([]);
  await expect(take(followers.follow(session, { after: 0 }, never), 1)).rejects.toMatchObject({ code: "not_found" });
});

test("listeners are called for every append and every notice until they unsubscribe", () => {
  const { followers, append } = bench();
  const heard: string[] = [];
  const leave = followers.onNews((sessionId) => heard.push(sessionId));
  append(event(1));
  followers.poke("other");
  leave();
  append(event(2));
  expect(heard).toEqual([session, "other"]);
});

test("a thousand followers all see every event", async () => {
  const { followers, append } = bench();
  const following = Array.from({ length: 1000 }, () => take(followers.follow(session, { after: 0 }, never), 20));
  await Promise.resolve();
  for (let n = 1; n <= 20; n++) append(event(n));
  for (const seen of await Promise.all(following)) expect(seen).toEqual(numbers(1, 20));
});

test("a log that began in this process is followed without reading the store, until another process writes to it", async () => {
  const { followers, append, reads, silently } = bench();
  append(...events(1, 2));
  const followed = take(followers.follow(session, { after: 0 }, never), 3);
  append(event(3));
  expect(await followed).toEqual(numbers(1, 3));
  expect(await take(followers.follow(session, { after: 2 }, never), 1)).toEqual([3]);
  expect(reads()).toBe(0);
  silently(event(4));
  followers.poke(session);
  expect(await take(followers.follow(session, { after: 0 }, never), 4)).toEqual(numbers(1, 4));
  expect(reads()).toBe(1);
});

test("after a notice from another process, a hundred followers share one new read", async () => {
  const at = (sequence: number): Event => ({ sequence }) as Event;
  const log = [at(1)];
  const asked: number[] = [];
  const answers: (() => void)[] = [];
  const followers = createFollowers({
    read: (_, after) => {
      asked.push(after);
      const page = log.filter(({ sequence }) => sequence > after);
      return new Promise((resolve) => void answers.push(() => resolve({ events: page, full: false })));
    },
  });
  const stop = new AbortController();
  const seen = Array.from({ length: 100 }, (): number[] => []);
  const following = seen.map(async (mine) => {
    for await (const { sequence } of followers.follow("s", { after: 0 }, stop.signal)) mine.push(sequence);
  });
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  await turn();
  expect(asked).toEqual([0]);

  // Another process appends while the first read is in progress, so the result does not have the new event.
  log.push(at(2));
  followers.poke("s");
  answers.shift()?.();
  await turn();
  expect(asked).toEqual([0, 1]);
  answers.shift()?.();
  await turn();
  expect(seen.every((mine) => mine.join() === "1,2")).toBe(true);
  stop.abort();
  await Promise.all(following);
});

test("the beginning of a log is kept for its followers if it has no large text", async () => {
  const small = bench();
  small.append(...events(1, 2));
  await take(small.followers.follow(session, { after: 0 }, AbortSignal.timeout(5000)), 2);
  expect(small.reads()).toBe(0);
  const large = bench();
  large.append(event(1), { ...event(2), data: { title: "x".repeat(100_000) } } as Event);
  await take(large.followers.follow(session, { after: 0 }, AbortSignal.timeout(5000)), 2);
  expect(large.reads()).toBeGreaterThan(0);
});
