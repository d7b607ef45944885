import { type Store, createMemoryStore, createStateCache, promptAccepted, sessionCreated } from "@skein/core";
import { scriptedAgent } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { expect, test } from "vitest";

const ids = createIds();

/**
 * Creates a session for each length, with a first text of this length. Records which sessions are read from the store.
 */
async function cached(lengths: readonly number[], most: number) {
  const memory = createMemoryStore();
  const reads: string[] = [];
  const store: Store = { ...memory, read: (id, range) => (reads.push(id), memory.read(id, range)) };
  const states = createStateCache({ store, longText: most });
  const sessions: string[] = [];
  for (const length of lengths) {
    const id = ids();
    const created = sessionCreated({
      tenant: "t",
      agent_id: id,
      agent_version: 1,
      agent: scriptedAgent,
      working_directory: null,
    });
    const prompt = promptAccepted({
      message_id: ids(),
      run_id: ids(),
      mode: "queue",
      content: "x".repeat(length),
    });
    for (const fact of [created, prompt]) await store.append(id, [{ ...fact, id: ids() }]);
    sessions.push(id);
  }
  return {
    states,
    sessions,
    async isKept(at: number): Promise<boolean> {
      const id = sessions[at] ?? "";
      states.put(await states.take(id, 2));
      return !reads.includes(id);
    },
  };
}

test("the cache keeps the latest states as long as their long texts fit its limit", async () => {
  const { isKept } = await cached([100_000, 100_000, 100_000], 250_000);
  expect([await isKept(2), await isKept(1), await isKept(0)]).toEqual([true, true, false]);
});

test("short texts do not count towards the limit of the cache, and a state that is larger than the limit is kept while it is the only state", async () => {
  const small = await cached([1000, 1000, 1000], 100);
  expect([await small.isKept(0), await small.isKept(1), await small.isKept(2)]).toEqual([true, true, true]);
  const large = await cached([500_000], 100);
  expect(await large.isKept(0)).toBe(true);
});

test("a pinned state is kept until its pin ends, and other states are dropped first", async () => {
  const { isKept, states, sessions } = await cached([100_000, 100_000], 250_000);
  const unpin = states.pin(sessions[0] ?? "");
  const more = await states.load(sessions[1] ?? "");
  for (const id of ["x", "y", "z"]) states.put({ ...more, sessionId: id });
  expect([await isKept(0), await isKept(1)]).toEqual([true, false]);
  unpin();
  for (const id of ["x", "y", "z"]) states.put({ ...more, sessionId: id });
  expect(await isKept(0)).toBe(false);
});
