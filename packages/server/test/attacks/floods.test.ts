/** A tenant that floods what all share, while another one's turn goes on. The figures are `npm run bench -- fair`. */
import { defineTool } from "@skein/core";
import { createKeys } from "@skein/server";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { openStore } from "../../../skein/src/open-store.ts";
import { type Caller, caller, folder, say, scripted, session, settled, testServer } from "../world.ts";

const SOON = { timeout: 20_000, interval: 20 };

/** A server with two tenants: the one that floods, and the one that must not notice. */
async function twoTenants(options: Parameters<typeof testServer>[0] = {}) {
  const store = `sqlite:${folder()}/skein.db`;
  const opened = await openStore(store);
  const keys = createKeys({ records: opened.records });
  const make = (tenant: string) => keys.make({ name: tenant, scopes: ["run", "sql", "admin"], tenant });
  const [flood, calm] = [await make("flood"), await make("calm")];
  await opened.close();
  const server = await testServer({ ...options, store });
  return { server, flood: caller(server.url, flood), calm: caller(server.url, calm), keys: { flood, calm } };
}

async function turn(call: Caller): Promise<void> {
  const { path } = await session(call);
  await say(call, path, "Hi.");
  expect(await settled(call, path)).toMatchObject({ status: "completed" });
}

async function metric(call: Caller, name: string, queue: string): Promise<number> {
  const { body } = await call("GET", "/metrics");
  return Number(new RegExp(`${name}\\{queue="${queue}"\\} (\\d+)`).exec(body as unknown as string)?.[1]);
}

test("80 runs of a tool that takes long leave places for another tenant, and the rest of them waits", async () => {
  const gate = Promise.withResolvers<void>();
  onTestFinished(() => gate.resolve());
  const hold = defineTool({
    name: "hold",
    description: "Waits.",
    input: z.looseObject({}),
    policy: "repeatable",
    run: async () => (await gate.promise, "held"),
  });
  const { flood, calm } = await twoTenants({ config: { tools: [hold] } });
  const { body: agent } = await flood("POST", "/v1/agents", { name: "Holder", tools: ["hold"] });
  const prompt = scripted("Hold.", [{ tools: [{ name: "hold" }] }, { text: "Done." }]);
  let last = "";
  for (let each = 0; each < 80; each++) {
    const { body } = await flood("POST", `/v1/agents/${agent.id}/sessions`, {});
    last = `/v1/sessions/${body.id}`;
    await say(flood, last, prompt);
  }
  await expect.poll(() => metric(calm, "skein_places_taken", "driving"), SOON).toBe(48);
  await expect
    .poll(async () => (await flood("GET", last)).body["queued"], SOON)
    .toMatchObject({
      reason: "This server drives as many sessions as it can. Tenants take turns.",
    });
  await turn(calm);
  gate.resolve();
  expect(await settled(flood, last)).toMatchObject({ status: "completed" });
});

test("a tenant that opens every stream it can leaves some for another", async () => {
  const { server, flood, keys } = await twoTenants({ limits: { allStreams: 40 } });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { path } = await session(flood);
  const open = (key: string, of: string) =>
    fetch(`${server.url}${of}/events`, {
      headers: { "x-api-key": key, accept: "text/event-stream" },
      signal: stop.signal,
    }).then(({ status }) => status);
  const opened = await Promise.all(Array.from({ length: 60 }, () => open(keys.flood, path)));
  expect(opened.filter((status) => status === 200)).toHaveLength(30);
  expect(opened.filter((status) => status === 429)).toHaveLength(30);
  const calm = caller(server.url, keys.calm);
  expect(await open(keys.calm, (await session(calm)).path)).toBe(200);
});

test("bodies of 4 MiB are read one after the other, and another tenant's turn goes between them", async () => {
  const { flood, calm } = await twoTenants({ limits: { bytesInFlight: 10 * 1024 * 1024 } });
  const { path } = await session(flood);
  const text = "x".repeat(4 * 1024 * 1024);
  const sent = Array.from({ length: 6 }, () => say(flood, path, text));
  await turn(calm);
  expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(sent.map(() => 202));
  await expect.poll(() => metric(calm, "skein_places_taken", "bodies"), SOON).toBe(0);
});
