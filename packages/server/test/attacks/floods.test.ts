/** One tenant floods each shared resource while another tenant works. `npm run bench -- fair` measures the delays. */
import { once } from "node:events";
import { type ServerResponse, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { defineTool } from "@skein/core";
import { createKeys } from "@skein/server";
import { createSimulator } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { openStore } from "../../../skein/src/open-store.ts";
import { hasBubblewrap } from "../../../sql/test/bubblewrap.ts";
import { type Caller, caller, folder, say, scripted, session, settled, testServer } from "../world.ts";

const SOON = { interval: 20 };

/**
 * Starts a server with two tenants. `flood` sends requests of one tenant, and `calm` of the second tenant. The flood
 * must not delay the requests of `calm`.
 */
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

test("if a tenant starts 60 runs with a slow tool, 48 begin and the others wait, so that another tenant gets a place", async () => {
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
  const begin = async (): Promise<string> => {
    const { body } = await flood("POST", `/v1/agents/${agent.id}/sessions`, {});
    await say(flood, `/v1/sessions/${body.id}`, prompt);
    return `/v1/sessions/${body.id}`;
  };
  // One tenant may run 48 of the 64 sessions that the server runs at once.
  await Promise.all(Array.from({ length: 59 }, begin));
  const last = await begin();
  await expect.poll(() => metric(calm, "skein_places_taken", "driving"), SOON).toBe(48);
  await expect
    .poll(async () => (await flood("GET", last)).body["queued"], SOON)
    .toMatchObject({
      reason: "This server runs as many sessions at once as it can. Tenants take turns.",
    });
  await turn(calm);
  gate.resolve();
  expect(await settled(flood, last)).toMatchObject({ status: "completed" });
});

test("one tenant can open only a part of all streams, so another tenant can still open a stream", async () => {
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

test("one tenant's four bodies of 1.5 MiB are read under a limit of 4 MiB, and another tenant's run completes", async () => {
  const { flood, calm } = await twoTenants({ limits: { bytesInFlight: 4 * 1024 * 1024 } });
  const { path } = await session(flood);
  const text = "x".repeat(1.5 * 1024 * 1024);
  const sent = Array.from({ length: 4 }, () => say(flood, path, text));
  await turn(calm);
  expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(sent.map(() => 202));
  await expect.poll(() => metric(calm, "skein_places_taken", "bodies"), SOON).toBe(0);
});

test("bodies that never arrive leave room for bodies of another tenant, and a large WebSocket message waits for room like a body", async () => {
  const MIB = 1024 * 1024;
  const { server, flood, calm, keys } = await twoTenants({ limits: { bytesInFlight: 4 * MIB } });
  const { path, id } = await session(flood);
  const uploads = Array.from({ length: 6 }, () =>
    request(`${server.url}${path}/messages`, {
      method: "POST",
      headers: { "x-api-key": keys.flood, "content-type": "application/json", "content-length": MIB },
    }).on("error", () => {}),
  );
  for (const each of uploads) each.write('{"role":"user",');
  // One tenant may use three of the four MiB for bodies, so one MiB is left for other tenants.
  await expect.poll(() => metric(calm, "skein_places_taken", "bodies"), SOON).toBe(3 * MIB);
  const large = "x".repeat(600 * 1024);
  const own = await session(calm);
  expect((await say(calm, own.path, large)).status).toBe(202);

  const socket = new WebSocket(`${server.url.replace("http", "ws")}/v1/ws`, { headers: { "x-api-key": keys.flood } });
  onTestFinished(() => socket.terminate());
  const heard: Record<string, unknown>[] = [];
  socket.on("message", (data: Buffer) => heard.push(JSON.parse(String(data)) as Record<string, unknown>));
  await once(socket, "open");
  const waiting = await metric(calm, "skein_places_waiting", "bodies");
  socket.send(JSON.stringify({ type: "prompt", id: "large", session_id: id, content: { text: large } }));
  await expect.poll(() => metric(calm, "skein_places_waiting", "bodies"), SOON).toBe(waiting + 1);
  expect(heard).toEqual([]);
  for (const each of uploads) each.destroy();
  await expect.poll(() => heard, SOON).toMatchObject([{ type: "ack", id: "large" }]);
  await expect.poll(() => metric(calm, "skein_places_taken", "bodies"), SOON).toBe(0);
});

test.skipIf(!hasBubblewrap)(
  "one tenant's endless SQL loops leave a place for another tenant's statement",
  { timeout: 60_000 },
  async () => {
    const { server, calm, keys } = await twoTenants({ limits: { statementMs: 30_000 } });
    const stop = new AbortController();
    const ask = (key: string, sql: string) =>
      fetch(`${server.url}/v1/sql`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify({ sql }),
        ...(key === keys.flood && { signal: stop.signal }),
      }).then(
        async (response) => `${response.status} ${await response.text()}`,
        () => "left",
      );
    const loop = "SELECT count(*) FROM range(100000000000) a, range(1000) b";
    const loops = Array.from({ length: 6 }, () => ask(keys.flood, loop));
    await expect.poll(() => metric(calm, "skein_places_waiting", "statements"), SOON).toBe(5);
    expect(await ask(keys.calm, "SELECT 42 AS n")).toMatch(/^200 [^]*\{"n":42\}/);
    expect(await metric(calm, "skein_places_waiting", "statements")).toBe(5);
    await turn(calm);
    stop.abort();
    expect(new Set(await Promise.all(loops))).toEqual(new Set(["left"]));
    await expect.poll(() => metric(calm, "skein_places_taken", "statements"), SOON).toBe(0);
    expect(await ask(keys.calm, "SELECT 1 AS n")).toMatch(/^200 /);
  },
);

test("one tenant's webhooks whose receiver never answers do not delay the notice of another tenant", async () => {
  const hanging = await receiver(() => {});
  const quick = await receiver((response) => response.writeHead(204).end());
  const { flood, calm } = await twoTenants({ limits: { notices: 4 }, webhookAddresses: ["127.0.0.1"] });
  for (let each = 0; each < 3; each++)
    await flood("POST", "/v1/webhooks", { url: hanging.url, events: ["session.edited"] });
  await calm("POST", "/v1/webhooks", { url: quick.url, events: ["session.edited"] });
  const { path } = await session(flood);
  for (let each = 0; each < 4; each++) await flood("PATCH", path, { title: `Flood ${each}` });
  await expect.poll(() => hanging.visits(), SOON).toBe(3);
  await expect.poll(() => metric(calm, "skein_places_waiting", "notices"), SOON).toBe(9);
  const own = await session(calm);
  await calm("PATCH", own.path, { title: "Calm" });
  await expect.poll(() => quick.visits(), SOON).toBe(1);
  expect(hanging.visits()).toBe(3);
});

test.skipIf(!hasBubblewrap)(
  "one tenant's queries of Claude Code leave a process for another tenant",
  { timeout: 90_000 },
  async () => {
    const simulator = await createSimulator();
    onTestFinished(() => simulator.close());
    const { server, calm, keys } = await twoTenants({
      modelUrl: simulator.url,
      config: { claude: { processes: { running: 3, ahead: 0, idle: 0 } } },
    });
    const stop = new AbortController();
    const ask = (key: string, delayMs: number) =>
      fetch(`${server.url}/api/v1/query/single`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify({ prompt: scripted("Go.", [{ text: "Done.", delayMs }]), stop_on_disconnect: true }),
        signal: stop.signal,
      });
    const queries = Array.from({ length: 6 }, () => ask(keys.flood, 60_000).catch(() => undefined));
    // One tenant may run two of the three processes of Claude Code, so one process is left for other tenants.
    await expect.poll(() => metric(calm, "skein_places_waiting", "claude"), SOON).toBe(4);
    const answer = await ask(keys.calm, 0);
    expect([answer.status, await answer.json()]).toMatchObject([200, { result: "Done." }]);
    expect(await metric(calm, "skein_places_waiting", "claude")).toBe(4);
    stop.abort();
    await Promise.all(queries);
  },
);

/** Starts an HTTP server on loopback that receives webhooks, and counts them as visits. */
async function receiver(answer: (response: ServerResponse) => void) {
  let visits = 0;
  const server = createServer((_, response) => {
    visits += 1;
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, visits: () => visits };
}
