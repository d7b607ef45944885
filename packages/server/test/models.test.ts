/** Models over HTTP: who may add them, which addresses are allowed, and what responses never contain. */
import { randomBytes } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createVault } from "@skein/core";
import { createKeys } from "@skein/server";
import { openStore } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { type Caller, caller, folder, say, session, settled, testServer } from "./world.ts";

const KEY = "sk-this-is-never-shown";

interface FakeModel {
  /** The address before `/chat/completions`. */
  readonly url: string;
  /** The `Authorization` of each request. */
  readonly keys: (string | undefined)[];
}

/** A Chat Completions server that answers with a greeting and can redirect callers. */
async function fakeModel(redirectTo?: string): Promise<FakeModel> {
  const keys: (string | undefined)[] = [];
  const server: Server = createServer((request, response) => {
    keys.push(request.headers.authorization);
    request.resume();
    if (redirectTo !== undefined) return void response.writeHead(307, { location: redirectTo }).end();
    const chunk = { id: "1", model: "m", choices: [{ index: 0, delta: { content: "Hello." }, finish_reason: "stop" }] };
    const usage = { id: "1", choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, keys };
}

/** A store that a second process can open, because keys of other tenants are created outside the server. */
function sqliteStore(): string {
  return `sqlite:${join(folder(), "skein.db")}`;
}

/** Creates an admin key of another tenant. */
async function tenantAdmin(store: string, url: string): Promise<Caller> {
  const opened = await openStore(store);
  const key = await createKeys({ records: opened.records }).make({ name: "boss", scopes: ["admin"], tenant: "acme" });
  await opened.close();
  return caller(url, key);
}

test("an admin adds a model with a key, tests it, uses it and removes it, and the key is never shown", async () => {
  const place = folder();
  const vault = createVault(randomBytes(32).toString("base64"));
  const server = await testServer({ store: `sqlite:${join(place, "skein.db")}`, secrets: { vault, lost: [] } });
  const { call, logged } = server;
  const { url, keys } = await fakeModel();
  const name = "openai-compatible/fake";
  const settings = {
    url,
    abilities: { tools: false, thinking: false },
    price: { input: 1, output: 2, date: "2026-11-01" },
  };
  const added = await call("POST", "/v1/models", { name, settings, key: KEY }, { "idempotency-key": "once" });
  expect(added).toMatchObject({ status: 201, body: { name, provider: "openai-compatible", settings, key: "stored" } });
  const tested = await call("POST", `/v1/models/${added.body.id}/test`);
  expect(tested).toMatchObject({
    status: 200,
    body: { works: true, data: [{ ability: "text", detail: "Hello." }, {}, {}, {}, {}, {}, {}, {}] },
  });
  const { path } = await session(call, { model: name });
  await say(call, path, "Hi");
  expect(await settled(call, path)).toMatchObject({ status: "completed" });
  expect(keys).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);

  const made = await call("POST", "/v1/keys", { name: "reader", scopes: ["run"] });
  const reader = caller(server.url, String(made.body["key"]));
  expect((await reader("GET", "/v1/models")).body.data).toMatchObject([{ name, settings: null, key: null }]);
  for (const [method, route] of [
    ["POST", ""],
    ["POST", `/${added.body.id}/test`],
    ["DELETE", `/${added.body.id}`],
  ] as const)
    expect((await reader(method, `/v1/models${route}`, route === "" ? { name } : undefined)).status).toBe(403);

  const listed = await call("GET", "/v1/models");
  expect(listed.body.data).toMatchObject([{ name, settings: { url }, key: "stored" }]);
  const audit = await call("GET", "/v1/audit");
  const acts = audit.body.data
    .map(({ action, actor, outcome }) => [action, actor, outcome])
    .filter(([action]) => /model/.test(String(action)));
  expect(acts.toReversed()).toEqual([
    ["model.add", "first start", "done"],
    ["model.test", "first start", "done"],
    ["model.add", "reader", "refused"],
    ["model.test", "reader", "refused"],
    ["model.remove", "reader", "refused"],
  ]);
  const events = await call("GET", `${path}/export`);
  for (const shown of [added, listed, audit, tested, events, { logged }])
    expect(JSON.stringify(shown)).not.toContain(KEY);

  expect((await call("DELETE", `/v1/models/${added.body.id}`)).status).toBe(204);
  expect((await call("DELETE", `/v1/models/${added.body.id}`)).status).toBe(404);
  await server.close();
  const bytes = readdirSync(place).map((file) => readFileSync(join(place, file), "latin1"));
  expect(bytes.join("")).not.toContain(KEY);
});

test("a model keeps its API key while its address stays the same; for another address the key must be given again", async () => {
  const { call } = await testServer();
  const [one, other] = [await fakeModel(), await fakeModel()];
  const name = "openai-compatible/fake";
  const { body } = await call("POST", "/v1/models", { name, settings: { url: one.url }, key: KEY });
  const moved = await call("POST", "/v1/models", { name, settings: { url: other.url } });
  expect(moved).toMatchObject({
    status: 422,
    body: { error: { message: expect.stringContaining("Give the provider's API key again") } },
  });
  const priced = { url: one.url, price: { input: 1, output: 1, date: "2026-11-01" } };
  expect((await call("POST", "/v1/models", { name, settings: priced })).body).toMatchObject({ key: "stored" });
  await call("POST", `/v1/models/${body.id}/test`);
  expect(new Set(one.keys)).toEqual(new Set([`Bearer ${KEY}`]));
  expect(other.keys).toEqual([]);
});

test("a redirect is not followed, so that a key is sent only to the model's address", async () => {
  const { call } = await testServer();
  const elsewhere = await fakeModel();
  const { url, keys } = await fakeModel(`${elsewhere.url}/chat/completions`);
  const { body } = await call("POST", "/v1/models", { name: "openai-compatible/fake", settings: { url }, key: KEY });
  const tested = await call("POST", `/v1/models/${body.id}/test`);
  expect(tested.body).toMatchObject({
    works: false,
    data: expect.arrayContaining([expect.objectContaining({ detail: expect.stringContaining("307") })]),
  });
  expect(keys.length).toBeGreaterThan(0);
  expect(elsewhere.keys).toEqual([]);
});

const NOT_FOR_TENANTS = {
  "this machine": [{ url: "http://127.0.0.1:11434/v1" }, 422, "url_not_allowed"],
  "this machine by name": [{ url: "http://localhost:11434/v1" }, 422, "url_not_allowed"],
  "this machine as one number": [{ url: "http://0x7f000001/v1" }, 422, "url_not_allowed"],
  "a cloud's metadata address": [{ url: "http://169.254.169.254/v1" }, 422, "url_not_allowed"],
  "an address with a password": [{ url: "http://me:secret@models.example.com/v1" }, 422, "url_not_allowed"],
  "a variable of the server": [{ url: "https://models.example.com/v1", key_env: "PATH" }, 403, "not_allowed"],
  "an address that is a file": [{ url: "file:///etc/passwd" }, 422, "invalid"],
  "a reference to another secret": [{ key_secret: "secret:model" }, 422, "invalid"],
} as const;

test("a tenant's admin may not add models inside the operator's network, or with the operator's variables", async () => {
  const store = sqliteStore();
  const { url } = await testServer({ store });
  const acme = await tenantAdmin(store, url);
  for (const [what, [settings, status, code]] of Object.entries(NOT_FOR_TENANTS)) {
    const answer = await acme("POST", "/v1/models", { name: "openai-compatible/x", settings });
    expect(answer, what).toMatchObject({ status, body: { error: { code } } });
  }
  expect((await acme("GET", "/v1/models")).body.data).toEqual([]);
});

test("a tenant's model at another address does not get the operator's key for the provider", async () => {
  const store = sqliteStore();
  const { url, call } = await testServer({ store });
  const acme = await tenantAdmin(store, url);
  const settings = { url: "https://elsewhere.example.com/v1" };
  for (const [who, sentence] of [
    [acme, "Give a key"],
    [call, "SKEIN_MODEL_KEY_VARIABLES"],
  ] as const) {
    const answer = await who("POST", "/v1/models", { name: "openai/gpt-6", settings });
    expect(answer).toMatchObject({ status: 403, body: { error: { message: expect.stringContaining(sentence) } } });
  }
  // A tenant may not give a price of zero to a model that is called with the operator's API key. The operator may.
  const free = { price: { input: 0, output: 0, date: "2026-11-01" } };
  expect((await acme("POST", "/v1/models", { name: "openai/gpt-6", settings: free })).status).toBe(403);
  expect((await call("POST", "/v1/models", { name: "openai/gpt-6", settings: free })).status).toBe(201);
});

test("a tenant's model in a cloud without a key is rejected under any name, so that it never uses the server's account", async () => {
  const store = sqliteStore();
  const { url, call } = await testServer({ store });
  const acme = await tenantAdmin(store, url);
  for (const name of ["bedrock/x", "mine/x", "claude-x", "openai/x"])
    for (const adapter of ["bedrock", "vertex"]) {
      const settings = { adapter, region: "us-east-1" };
      const answer = await acme("POST", "/v1/models", { name, settings });
      expect(answer, `${name} by ${adapter}`).toMatchObject({ status: 403, body: { error: { code: "not_allowed" } } });
    }
  // The API key of one provider is not sent to another provider.
  const other = { name: "bedrock/x", settings: { adapter: "openai" } };
  expect((await call("POST", "/v1/models", other)).status).toBe(403);
});

test("the operator can allow addresses and variables for requests", async () => {
  const { url, keys } = await fakeModel();
  const store = sqliteStore();
  process.env["SKEIN_TEST_OPENED_KEY"] = "sk-of-the-environment";
  onTestFinished(() => void delete process.env["SKEIN_TEST_OPENED_KEY"]);
  const opened = { addresses: ["127.0.0.1"], keyVariables: ["SKEIN_TEST_OPENED_KEY"] };
  const server = await testServer({ store, openedToModels: opened });
  const settings = { url, key_env: "SKEIN_TEST_OPENED_KEY" };
  const { body } = await server.call("POST", "/v1/models", { name: "openai-compatible/fake", settings });
  expect(body).toMatchObject({ key: "environment", settings });
  await server.call("POST", `/v1/models/${body.id}/test`);
  expect(keys[0]).toBe("Bearer sk-of-the-environment");
  const acme = await tenantAdmin(store, server.url);
  expect((await acme("POST", "/v1/models", { name: "openai-compatible/x", settings: { url } })).status).toBe(201);
  // An added model becomes unusable when the operator no longer allows its address.
  await server.close();
  const closed = await testServer({ store });
  const again = await tenantAdmin(store, closed.url);
  const [model] = (await again("GET", "/v1/models")).body.data;
  const tested = await again("POST", `/v1/models/${String(model?.["id"])}/test`);
  expect(tested.body.data[0]).toMatchObject({
    outcome: "fails",
    detail: expect.stringContaining("not an address of the public internet"),
  });
});
