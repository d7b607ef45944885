import { type Store, createMemoryLive, createMemoryStore } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { createKeys, createServer } from "@skein/server";
import { expect, onTestFinished, test, vi } from "vitest";

async function serverOn(store: Store, deps: Partial<Parameters<typeof createServer>[0]> = {}) {
  const server = await createServer({
    ...deps,
    store,
    live: createMemoryLive(),
    defaultModel: "claude-sonnet-5-5",
    description: { version: "0", store: "memory", model: "none" },
    logRequests: false,
  });
  onTestFinished(() => server.close());
  return async (url: string, key?: string) => {
    const headers = key === undefined ? {} : { "x-api-key": key };
    const answer = await server.inject({ method: "GET", url, headers });
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

test("if an optional part does not answer, /health tells the effect, but not the part's address", async () => {
  let isAway = true;
  const store = createMemoryStore();
  const key = await createKeys({ records: store.records }).make({ name: "k", tenant: "t", scopes: ["read"] });
  const get = await serverOn(store, {
    async engineCheck() {
      if (isAway) throw new Error("No ingress of Restate answers at http://secret-host:8080.");
    },
  });
  const { status, body } = await get("/health", key);
  expect({ status, body }).toMatchObject({ status: 200, body: { status: "degraded", failing: ["restate"] } });
  expect(JSON.stringify(body)).toContain("No Restate server answers");
  expect(JSON.stringify(body)).not.toContain("secret-host");
  isAway = false;
  expect((await get("/health")).body).toMatchObject({ status: "ok", failing: [] });
});

test.each([
  ["waits", 499, true],
  ["answers as without a key", 501, false],
])("/health %s if the store finds the key after %i ms", async (_, ms, isKnown) => {
  const store = createMemoryStore();
  const key = await createKeys({ records: store.records }).make({ name: "k", tenant: "t", scopes: ["read"] });
  const asked = Promise.withResolvers<void>();
  const get = await serverOn({
    ...store,
    records: {
      ...store.records,
      async get(tenant, kind, id) {
        if (kind === "api_key") {
          asked.resolve();
          await new Promise((resolve) => setTimeout(resolve, ms));
        }
        return store.records.get(tenant, kind, id);
      },
    },
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const answer = get("/health", key);
  await asked.promise;
  await vi.advanceTimersByTimeAsync(ms);
  expect("dependencies" in (await answer).body).toBe(isKnown);
});
