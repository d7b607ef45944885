import { createMemoryStore } from "@skein/core";
import { createIds } from "@skein/protocol";
import { expect, test } from "vitest";
import { createIdempotency } from "../src/http/idempotency.ts";
import { createKeys } from "../src/keys.ts";
import { DEFAULT_LIMITS, createMeter } from "../src/http/limits.ts";

/** Returns a clock that the test can set to another time, as after a correction of the machine's clock. */
function clock() {
  let time = Date.parse("2026-11-15T12:00:00Z");
  return { now: (): number => time, jump: (ms: number): void => void (time += ms) };
}

const HOUR = 3600 * 1000;

test("a key within its limits is not rejected when the clock goes back", () => {
  const { now, jump } = clock();
  const meter = createMeter(DEFAULT_LIMITS, now);
  meter.request("key");
  jump(-HOUR);
  meter.request("key");
  expect(() => meter.session("key")).not.toThrow();
});

test("a key that another process revokes is no longer recognised, even if the clock went back before", async () => {
  const { now, jump } = clock();
  const { records } = createMemoryStore();
  const keys = createKeys({ records, now });
  const key = await keys.make({ name: "guest", scopes: ["read"], tenant: "default" });
  expect(await keys.recognise(key)).toMatchObject({ name: "guest" });
  jump(-HOUR);
  await createKeys({ records, now }).revoke("guest");
  expect(await keys.recognise(key)).toBeUndefined();
});

test("a request that a dead process left unfinished is taken over, even if the clock goes back", async () => {
  const { now, jump } = clock();
  const { records } = createMemoryStore();
  const id = { id: "key", fingerprint: "request" };
  void createIdempotency({ records, now, ids: createIds(), report: () => {} }).run(id, () => new Promise(() => {}));
  await expect.poll(() => records.get("$idempotency", "answer", "key")).toBeDefined();
  jump(-HOUR);
  const answer = { status: 201, body: {} };
  expect(
    await createIdempotency({ records, now, ids: createIds(), report: () => {} }).run(id, async () => answer),
  ).toMatchObject(answer);
});
