import { createMemoryStore } from "@skein/core";
import { expect, test } from "vitest";
import { createIdempotency } from "../../src/http/idempotency.ts";

const HOUR = 3600 * 1000;

test("an answer is kept for 24 hours at least and gone after 48, also when the server was off for weeks", async () => {
  const { records } = createMemoryStore();
  let time = Date.parse("2026-11-15T23:59:00Z");
  const idempotency = createIdempotency({ records, now: () => time });
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
  await createIdempotency({ records, now: () => time }).sweep();
  expect((await records.list({ tenant: "$idempotency", kind: "answer" })).items).toEqual([]);
});
