import { type Store, createMemoryLive, createMemoryStore } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { createServer } from "@skein/server";
import { expect, onTestFinished, test } from "vitest";

async function serverOn(store: Store) {
  const server = await createServer({
    store,
    live: createMemoryLive(),
    defaultModel: "claude-sonnet-5-5",
    description: { version: "0", store: "memory", model: "none" },
    logRequests: false,
  });
  onTestFinished(() => server.close());
  return async (url: string) => {
    const answer = await server.inject({ method: "GET", url });
    return { status: answer.statusCode, body: answer.json<Record<string, unknown>>() };
  };
}

test("both APIs report a store that can only be read because its disk is full", async () => {
  const store = createMemoryStore();
  let isFull = true;
  const records = {
    ...store.records,
    put: async (puts: Parameters<Store["records"]["put"]>[0]) => {
      if (isFull) throw new KnownError("disk_full", "Full.");
      return store.records.put(puts);
    },
  };
  const get = await serverOn({ ...store, records });
  expect(await get("/health")).toMatchObject({ status: 503, body: { status: "unhealthy", failing: ["store"] } });
  expect(await get("/ready")).toMatchObject({
    status: 503,
    body: { error: { message: expect.stringMatching(/full/) } },
  });
  expect(await get("/api/v1/health")).toMatchObject({ status: 503, body: { status: "unhealthy" } });
  isFull = false;
  expect(await get("/health")).toMatchObject({ status: 200, body: { status: "ok", failing: [] } });
  expect((await get("/ready")).status).toBe(200);
});
