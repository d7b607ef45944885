import { createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { foldAll } from "../../src/log/fold.ts";
import { createMemoryStore } from "../../src/memory-store/memory-store.ts";
import { forgetServed, leaveUnserved, unservedSessions } from "../../src/run/unserved.ts";
import { createScript } from "../../src/testing/script.ts";

const HOUR = 3_600_000;
const noon = Date.parse("2026-11-16T12:00:00Z");

/** A store in which a worker could not run the first session at `first`, and 200 later sessions at noon. */
async function world(first: number) {
  const [store, ids] = [createMemoryStore(), createIds()];
  const left: string[] = [];
  for (let n = 0; n <= 200; n++) {
    const { sessionId, create, prompt, claim } = createScript({ store, ids });
    await create();
    await prompt("Hi.");
    const lease = await claim();
    const state = foldAll(sessionId, await store.read(sessionId));
    await leaveUnserved({ store, ids, now: () => (n === 0 ? first : noon) }, { lease, state, missing: "No tool." });
    left.push(sessionId);
  }
  return { records: store.records, left };
}

test("a session without a worker is reported, even if 200 later sessions run again", async () => {
  const { records, left } = await world(noon + HOUR);
  expect(await unservedSessions(records, noon + HOUR)).toEqual([
    { sessionId: left[0], tenant: "default", missing: "No tool." },
  ]);
});

test("the record of a session that runs again is removed after a day, even if 200 later sessions have one", async () => {
  const { records, left } = await world(noon - HOUR);
  await forgetServed(records, noon + 23.5 * HOUR);
  const kept: string[] = [];
  for await (const { id } of records.scan()) kept.push(id);
  expect(kept.toSorted()).toEqual(left.slice(1).toSorted());
});
