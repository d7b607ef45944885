import { expect, test } from "vitest";
import { createProcessSlots } from "../../src/runtimes/claude-code/process-slots.ts";

const always = async (): Promise<boolean> => true;
const { signal: never } = new AbortController();
/** What is given back within the next turns of the loop, or undefined. */
const soon = async <Value>(promise: Promise<Value>): Promise<Value | "waits"> =>
  Promise.race([promise, new Promise<"waits">((resolve) => void setTimeout(() => resolve("waits"), 5))]);

test("no more runs than there are places, and who waits is next", async () => {
  const slots = createProcessSlots(2, always);
  const [first] = [await slots.take(never), await slots.take(never)];
  const third = slots.take(never);
  expect(await soon(third)).toBe("waits");
  expect([slots.taken, slots.waiting]).toEqual([2, 1]);
  first?.();
  // Given back twice is given back once.
  first?.();
  expect(await soon(third)).toBeTypeOf("function");
  expect([slots.taken, slots.waiting]).toEqual([2, 0]);
});

test("who is stopped while it waits leaves its place in the queue to the next", async () => {
  const slots = createProcessSlots(1, always);
  const first = await slots.take(never);
  const stopped = new AbortController();
  const second = slots.take(stopped.signal);
  const third = slots.take(never);
  stopped.abort();
  expect(await second).toBeUndefined();
  first?.();
  expect(await soon(third)).toBeTypeOf("function");
});

test("where there is no room one run works all the same, and others wait for its end", async () => {
  const slots = createProcessSlots(8, async () => false);
  const [one, two, three] = [slots.take(never), slots.take(never), slots.take(never)] as const;
  const [first, second] = await Promise.all([one, two, three].map(soon));
  expect([first === "waits", second === "waits", slots.taken, slots.waiting]).toEqual([false, true, 1, 2]);
  if (typeof first === "function") first();
  expect(await soon(two)).toBeTypeOf("function");
  expect(slots.taken).toBe(1);
});
