/** Processes with different roles on one PostgreSQL. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createWorkers } from "@skein/core";
import { defineTool } from "@skein/core";
import { createSimulator, script } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type Database, createDatabase } from "../../../../scripts/postgres.ts";
import { caller, folder, say, session, settled } from "../../../server/test/world.ts";
import { readConfig } from "../../src/config.ts";
import { openStore } from "../../src/open-store.ts";
import { codeOf } from "../../src/serve/config-file.ts";
import { engineSettings } from "../../src/serve/engine-settings.ts";
import { startServer } from "../../src/serve/server.ts";

const postgres = inject("postgres");
const SOON = { interval: 20 };
const KEY = "an-admin-key-of-our-own";
const SHARED = "postgres://db/skein";

const configured = (env: NodeJS.ProcessEnv) => () => engineSettings(readConfig(env).engine, undefined, SHARED);
const RESTATE = { SKEIN_ENGINE: "restate", SKEIN_RESTATE_URL: "http://restate:8080" };

test.each([
  ["an unknown role", { SKEIN_ROLE: "boss" }, /The role is "boss". Expected all, api or worker/],
  ["an unknown engine", { SKEIN_ENGINE: "temporal" }, /SKEIN_ENGINE is "temporal". Expected "local" or "restate"/],
  ["Restate without an address", { SKEIN_ENGINE: "restate" }, /set SKEIN_RESTATE_URL/],
  [
    "an invalid address of Restate",
    { ...RESTATE, SKEIN_RESTATE_URL: "restate:8080" },
    /SKEIN_RESTATE_URL has "restate:8080"/,
  ],
  [
    "an endpoint without a port",
    { ...RESTATE, SKEIN_RESTATE_ENDPOINT: "0.0.0.0" },
    /SKEIN_RESTATE_ENDPOINT is "0.0.0.0"/,
  ],
  [
    "an open endpoint without a key of the cluster",
    { ...RESTATE, SKEIN_RESTATE_ENDPOINT: "0.0.0.0:9080" },
    /set SKEIN_RESTATE_IDENTITY_KEYS/,
  ],
  ["an invalid key of the cluster", { ...RESTATE, SKEIN_RESTATE_IDENTITY_KEYS: "secret" }, /publickeyv1_/],
])("%s is rejected with an error message before anything is opened", (_, env, sentence) => {
  expect(configured(env)).toThrow(sentence);
});

test("a worker process on a store that cannot be shared is rejected", () => {
  expect(() => engineSettings(readConfig({ SKEIN_ROLE: "worker" }).engine, undefined, "sqlite:x.db")).toThrow(
    /postgres:\/\//,
  );
});

describe("on one PostgreSQL", { timeout: 60_000 }, () => {
  let model: Awaited<ReturnType<typeof createSimulator>>;
  let database: Database;
  beforeAll(async () => {
    model = await createSimulator();
    database = await createDatabase(postgres.url, { template: postgres.template });
  });
  afterAll(async () => {
    await model.close();
    await database.drop();
  });

  async function process_(role: "api" | "worker", code = codeOf({}), limits = {}) {
    const server = await startServer({
      port: 0,
      host: "127.0.0.1",
      storeUrl: database.url,
      engine: { role, restate: undefined },
      dataDir: folder(),
      apiKey: KEY,
      allowedHosts: [],
      allowedOrigins: [],
      allowedWebhookAddresses: [],
      anthropicApiKey: "sk-ant-simulated",
      anthropicBaseUrl: model.url,
      claudeCode: false,
      code,
      limits: { requestBurst: 100_000, requestsPerSecond: 100_000, ...limits },
    });
    let closed: Promise<void> | undefined;
    const close = (): Promise<void> => (closed ??= server.close());
    onTestFinished(close);
    return { call: caller(server.url, KEY), close };
  }

  function skills(...names: readonly string[]): string {
    const place = folder();
    for (const name of names) {
      mkdirSync(join(place, name));
      writeFileSync(
        join(place, name, "SKILL.md"),
        `---\nname: ${name}\ndescription: About ${name}.\n---\n\nDo ${name}.\n`,
      );
    }
    return place;
  }

  test("without a worker, an api process accepts a prompt and says that no worker is running; a new worker answers the prompt", async () => {
    const api = await process_("api");
    const { path } = await session(api.call);
    await say(api.call, path, `Please. ${script([{ text: "Here." }], "roles")}`);
    expect((await api.call("GET", `${path}/placement`)).body).toMatchObject({
      waiting: true,
      workers: [],
      detail: expect.stringContaining("no worker is running"),
    });
    const worker = await process_("worker");
    await settled(api.call, path);
    const { body } = await api.call("GET", `${path}/messages`);
    expect(JSON.stringify(body)).toContain("Here.");
    expect((await api.call("GET", "/v1/workers")).body["data"]).toHaveLength(1);
    expect((await api.call("GET", `${path}/placement`)).body).toMatchObject({ waiting: false });
    expect((await worker.call("GET", "/health")).status).toBe(200);
    expect((await worker.call("GET", path)).status).toBe(404);
    await worker.close();
    expect((await api.call("GET", "/v1/workers")).body["data"]).toEqual([]);
  });

  test("placement shows which worker runs a session, and shows no worker before and after the run", async () => {
    const { promise: asked, resolve: onCall } = Promise.withResolvers<void>();
    const { promise: released, resolve: letGo } = Promise.withResolvers<string>();
    const hold = defineTool({
      name: "hold",
      description: "Waits.",
      input: z.object({}),
      run: async () => (onCall(), await released),
    });
    const code = codeOf({ tools: [hold] });
    const api = await process_("api", code);
    await process_("worker", code);
    const made = await api.call("POST", "/v1/agents", { name: "Holder", tools: ["hold"] });
    const { body } = await api.call("POST", `/v1/agents/${made.body.id}/sessions`, {});
    const path = `/v1/sessions/${body.id}`;
    expect((await api.call("GET", `${path}/placement`)).body).toMatchObject({ worker: null });
    await say(api.call, path, `Please. ${script([{ tools: [{ name: "hold" }] }, { text: "Done." }], "hold")}`);
    await asked;
    const { data } = (await api.call("GET", "/v1/workers")).body as unknown as { data: readonly { id: string }[] };
    const [worker] = data.map(({ id }) => id);
    expect((await api.call("GET", `${path}/placement`)).body).toMatchObject({ worker, workers: [worker] });
    letGo("held");
    await settled(api.call, path);
    await expect
      .poll(async () => (await api.call("GET", `${path}/placement`)).body, SOON)
      .toMatchObject({ worker: null });
  });

  test("if no worker has the tools of a session, the session waits and lists the tools; a new worker with the tools continues the session", async () => {
    const weigh = defineTool({ name: "weigh", description: "Weighs.", input: z.object({}), run: () => "12 kg" });
    const api = await process_("api", codeOf({ tools: [weigh] }));
    await process_("worker");
    const made = await api.call("POST", "/v1/agents", { name: "Weigher", tools: ["weigh"] });
    const { body } = await api.call("POST", `/v1/agents/${made.body.id}/sessions`, {});
    const path = `/v1/sessions/${body.id}`;
    await say(api.call, path, `Please. ${script([{ tools: [{ name: "weigh" }] }, { text: "It is $LAST" }], "weigh")}`);
    await expect
      .poll(async () => (await api.call("GET", `${path}/placement`)).body, SOON)
      .toMatchObject({ waiting: true, detail: expect.stringContaining("no worker has tool weigh") });
    await process_("worker", codeOf({ tools: [weigh] }));
    await settled(api.call, path);
    expect(JSON.stringify((await api.call("GET", `${path}/messages`)).body)).toContain("It is 12 kg");
  });

  test("a session waits for a worker with all skills of its agent, and says which skill is missing", async () => {
    const [one, both] = [skills("ant"), skills("ant", "bee")];
    const api = await process_("api", codeOf({ skills: [both] }));
    const lacking = await process_("worker", codeOf({ skills: [one] }));
    const made = await api.call("POST", "/v1/agents", { name: "Skilled", skills: ["ant", "bee"] });
    const { body } = await api.call("POST", `/v1/agents/${made.body.id}/sessions`, {});
    const path = `/v1/sessions/${body.id}`;
    const steps = [{ tools: [{ name: "load_skill", input: { name: "bee" } }] }, { text: "I read: $LAST" }];
    await say(api.call, path, `Please. ${script(steps, "skills")}`);
    await expect
      .poll(async () => (await api.call("GET", `${path}/placement`)).body, SOON)
      .toMatchObject({ waiting: true, detail: expect.stringContaining("no worker has skill bee") });
    await expect
      .poll(async () => (await api.call("GET", path)).body, SOON)
      .toMatchObject({ unserved: expect.stringContaining('No server has the skill "bee" of the agent "Skilled"') });
    await process_("worker", codeOf({ skills: [both] }));
    await settled(api.call, path);
    expect(JSON.stringify((await api.call("GET", `${path}/messages`)).body)).toContain("I read: Do bee.");
    await lacking.close();
  });

  test("a session waits for a worker that can use its model, and says why other workers are unsuitable", async () => {
    const local = { "local/small": { adapter: "anthropic" as const, url: model.url, key_env: "SKEIN_TEST_ROLES_KEY" } };
    const code = codeOf({ models: local });
    const api = await process_("api", code);
    const lacking = await process_("worker", code);
    const made = await api.call("POST", "/v1/agents", { name: "Modelled", model: "local/small" });
    const { body } = await api.call("POST", `/v1/agents/${made.body.id}/sessions`, {});
    const path = `/v1/sessions/${body.id}`;
    await say(api.call, path, `Please. ${script([{ text: "Here." }], "model")}`);
    await expect
      .poll(async () => (await api.call("GET", `${path}/placement`)).body, SOON)
      .toMatchObject({ waiting: true, detail: expect.stringContaining("needs a key in the environment variable") });
    await lacking.close();
    process.env["SKEIN_TEST_ROLES_KEY"] = "sk-local";
    onTestFinished(() => void delete process.env["SKEIN_TEST_ROLES_KEY"]);
    await process_("worker", code);
    await settled(api.call, path);
    expect(JSON.stringify((await api.call("GET", `${path}/messages`)).body)).toContain("Here.");
  });

  test("if two api processes use a store, a process grants only half of a key's limit", async () => {
    const LIMIT = 12;
    const api = await process_("api", codeOf({}), { sessionsPerMinute: LIMIT });
    const store = await openStore(database.url);
    onTestFinished(() => store.close());
    const workers = createWorkers(store.records);
    const other = {
      role: "api" as const,
      owner: "other-host/1/1",
      runtimes: [],
      agents: [],
      tools: [],
      skills: [],
      model: "none",
    };
    await workers.beat(other);
    onTestFinished(() => workers.leave(other));
    const beats = async (): Promise<readonly number[]> =>
      (await workers.all())
        .filter(({ role, owner }) => role === "api" && owner !== other.owner)
        .map(({ beat }) => beat);
    // After each heartbeat, a process reads the heartbeats of all other processes.
    const before = Math.max(0, ...(await beats()));
    await expect.poll(async () => Math.max(...(await beats())), SOON).toBeGreaterThan(before + 2);
    const made = await api.call("POST", "/v1/agents", { name: "Limited" });
    const began = Date.now();
    const statuses: number[] = [];
    for (let n = 0; n < LIMIT * 2; n++)
      statuses.push((await api.call("POST", `/v1/agents/${made.body.id}/sessions`, {})).status);
    // The process grants its half of the limit, plus the tokens that were added since the start.
    const more = Math.ceil(((Date.now() - began) / 60_000) * (LIMIT / 2));
    const granted = statuses.filter((status) => status === 201).length;
    expect(granted).toBeGreaterThanOrEqual(LIMIT / 2);
    expect(granted).toBeLessThanOrEqual(LIMIT / 2 + more);
    expect(statuses).toContain(429);
  });

  test("a worker frees the leases of a dead worker and removes the dead worker's entry from the list of workers", async () => {
    const store = await openStore(database.url);
    onTestFinished(() => store.close());
    const { hostname } = await import("node:os");
    const dead = `${hostname()}/999999/1`;
    await createWorkers(store.records).beat({
      role: "worker",
      owner: dead,
      runtimes: ["loop"],
      agents: [],
      tools: [],
      skills: [],
      model: "none",
    });
    const api = await process_("api");
    const { path, id } = await session(api.call);
    expect(await store.claim({ owner: dead, leaseMs: 60_000, sessionId: id })).toMatchObject({ kind: "leased" });
    await say(api.call, path, `Please. ${script([{ text: "Taken over." }], "dead")}`);
    const began = Date.now();
    await process_("worker");
    await settled(api.call, path);
    expect(Date.now() - began).toBeLessThan(10_000);
    await expect.poll(async () => (await store.owners()).includes(dead), SOON).toBe(false);
    const known = async () => (await createWorkers(store.records).list()).map(({ owner }) => owner);
    await expect.poll(known, SOON).not.toContain(dead);
  });
});
