import { createMemoryStore } from "@skein/core";
import { KnownError, createIds } from "@skein/protocol";
import { expect, test, vi } from "vitest";
import { createIdempotency } from "../../src/http/idempotency.ts";
import { PATIENCE_MS } from "../../../../scripts/patience.ts";

const HOUR = 3600 * 1000;

test("a response is kept for at least 24 and at most 48 hours, even if the server was off for weeks", async () => {
  const { records } = createMemoryStore();
  let time = Date.parse("2026-11-15T23:59:00Z");
  const idempotency = createIdempotency({ records, now: () => time, ids: createIds(), report: () => {} });
  const post = async (id: string, fingerprint: string) =>
    (await idempotency.run({ id, fingerprint }, async () => ({ status: 201, body: fingerprint }))).body;
  await idempotency.sweep();
  expect(await post("a", "first")).toBe("first");
  time += 24 * HOUR;
  await idempotency.sweep();
  await expect(post("a", "second")).rejects.toMatchObject({ code: "key_reused" });
  expect(await post("b", "third")).toBe("third");
  time += 24 * HOUR;
  await idempotency.sweep();
  expect(await post("a", "fourth")).toBe("fourth");
  await expect(post("b", "fifth")).rejects.toMatchObject({ code: "key_reused" });
  time += 90 * 24 * HOUR;
  await createIdempotency({ records, now: () => time, ids: createIds(), report: () => {} }).sweep();
  expect((await records.list({ tenant: "$idempotency", kind: "answer" })).items).toEqual([]);
});

test("if a process dies during a request, a repeated request creates the same resource, immediately on the same machine and after 4 s on another machine", async () => {
  const { records } = createMemoryStore();
  let time = Date.parse("2026-11-15T12:00:00Z");
  const server = (owner: string) =>
    createIdempotency({
      records,
      now: () => time,
      ids: createIds(),
      report: () => {},
      process: { owner, isDead: (other) => other === "here/1" && owner.startsWith("here/") },
    });
  const ids: string[] = [];
  const never = new Promise<never>(() => {});
  const post = (by: ReturnType<typeof server>, id: string, end: Promise<unknown>) =>
    by.run({ id, fingerprint: "f" }, async (newId) => {
      ids.push(newId);
      await end;
      return { status: 201, body: newId };
    });
  const dead = server("here/1");
  for (const id of ["a", "b"]) void post(dead, id, never);
  await vi.waitFor(() => expect(ids).toHaveLength(2), PATIENCE_MS);
  expect((await post(server("here/2"), "a", Promise.resolve())).body).toBe(ids[0]);
  const elsewhere = server("there/1");
  await expect(post(elsewhere, "b", Promise.resolve())).rejects.toMatchObject({ code: "in_progress" });
  time += 4001;
  expect((await post(elsewhere, "b", Promise.resolve())).body).toBe(ids[1]);
});

test.each([
  ["", false, false],
  [", even if the store is unavailable for a moment", true, false],
  [", even if the store stores a record and its answer is lost", true, true],
])("an Idempotency-Key cannot be used again while its request is in progress%s", async (_, fails, isStored) => {
  vi.useFakeTimers({ now: Date.parse("2026-11-15T12:00:00Z") });
  try {
    const store = createMemoryStore();
    let fault: KnownError | undefined;
    const records: typeof store.records = {
      ...store.records,
      async put(puts) {
        if (!fault) return store.records.put(puts);
        if (isStored) await store.records.put(puts);
        const thrown = fault;
        fault = undefined;
        throw thrown;
      },
    };
    const parts = { records, now: Date.now, ids: createIds(), report: () => {} };
    const [first, other] = [createIdempotency(parts), createIdempotency(parts)];
    const key = { id: "slow", fingerprint: "f" };
    const slow = first.run(key, async () => {
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      return { status: 201, body: "done" };
    });
    await vi.advanceTimersByTimeAsync(5000);
    if (fails) fault = new KnownError("store_unavailable", "No answer.");
    await vi.advanceTimersByTimeAsync(25_000);
    expect(fault).toBeUndefined();
    await expect(other.run(key, async () => ({ status: 201, body: "twice" }))).rejects.toMatchObject({
      code: "in_progress",
    });
    await vi.advanceTimersByTimeAsync(31_000);
    expect((await slow).body).toBe("done");
    expect(await other.run(key, async () => ({ status: 201, body: "twice" }))).toMatchObject({ body: "done" });
  } finally {
    vi.useRealTimers();
  }
});

test("work whose outcome is unknown is repeated with the same id, and rejected work with a new id", async () => {
  const { records } = createMemoryStore();
  const idempotency = createIdempotency({ records, now: Date.now, ids: createIds(), report: () => {} });
  const ids: string[] = [];
  const post = (id: string, error?: Error) =>
    idempotency.run({ id, fingerprint: "f" }, async (newId) => {
      ids.push(newId);
      if (error) throw error;
      return { status: 201, body: newId };
    });
  await expect(post("a", new KnownError("store_unavailable", "No answer."))).rejects.toThrow();
  await post("a");
  await expect(post("b", new KnownError("invalid", "No."))).rejects.toThrow();
  await post("b");
  expect(ids[1]).toBe(ids[0]);
  expect(ids[3]).not.toBe(ids[2]);
});

test("a response that cannot be stored is sent anyway, because the work was done", async () => {
  const { records } = createMemoryStore();
  const reported: unknown[] = [];
  let full = false;
  const idempotency = createIdempotency({
    records: {
      ...records,
      put: async (puts) => {
        if (full) throw new KnownError("disk_full", "Full.");
        return records.put(puts);
      },
    },
    now: Date.now,
    ids: createIds(),
    report: (error) => reported.push(error),
  });
  const work = async () => {
    full = true;
    return { status: 202, body: "kept and running" };
  };
  expect(await idempotency.run({ id: "a", fingerprint: "f" }, work)).toMatchObject({ body: "kept and running" });
  expect(reported).toMatchObject([{ code: "disk_full" }]);
});
