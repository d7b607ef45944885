import { createKeys, createServer } from "@skein/server";
import { createMemoryLive, createMemoryStore } from "@skein/core";
import { expect, test } from "vitest";
import { caller, testServer } from "../../world.ts";

const DAY_MS = 24 * 3600 * 1000;

/** Creates a server whose clock the test controls, with an admin key for each of the tenants "mine" and "theirs". */
async function clockServer() {
  let time = Date.parse("2026-11-18T12:00:00.000Z");
  const now = (): number => time;
  const store = createMemoryStore();
  const keys = createKeys({ records: store.records, now });
  const server = await createServer({
    store,
    live: createMemoryLive(),
    defaultModel: "claude-sonnet-5-5",
    description: { version: "0", store: "memory", model: "none" },
    now,
  });
  const as =
    (key: string | undefined) =>
    async (method: "GET" | "POST" | "DELETE", url: string, payload?: object, headers: Record<string, string> = {}) => {
      const answer = await server.inject({
        method,
        url,
        headers: { ...(key !== undefined && { "x-api-key": key }), ...headers },
        ...(payload && { payload }),
      });
      return { status: answer.statusCode, headers: answer.headers, body: answer.body === "" ? {} : answer.json() };
    };
  const listed = async (name: string) =>
    (await admin("GET", "/v1/keys")).body.data.filter((key: { name: string }) => key.name === name);
  const admin = as(await keys.make({ name: "root", scopes: ["admin"], tenant: "mine" }));
  const stranger = as(await keys.make({ name: "root", scopes: ["admin"], tenant: "theirs" }));
  return { server, store, as, admin, listed, stranger, pass: (ms: number) => void (time += ms), now };
}

test("an admin creates, lists and revokes keys of its own tenant, and a key is shown once", async () => {
  const { server, store, as, admin, stranger } = await clockServer();
  const input = { name: "ci", owner: "Team A", scopes: ["run"], expires_at: "2027-01-01T01:00:00+01:00" };
  const again = { "idempotency-key": "make-ci" };
  const made = await admin("POST", "/v1/keys", input, again);
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    name: "ci",
    owner: "Team A",
    expires_at: "2027-01-01T00:00:00.000Z",
    state: "valid",
  });
  const { key, id } = made.body;
  expect((await as(key)("GET", "/v1/me")).body.key).toMatchObject({ id, name: "ci", owner: "Team A", scopes: ["run"] });
  // A repeated request returns the same key without its secret, which is stored nowhere.
  const repeated = await admin("POST", "/v1/keys", input, again);
  expect([repeated.status, repeated.headers["idempotency-replayed"]]).toEqual([201, "true"]);
  expect(repeated.body).toMatchObject({ id, key: null });
  for await (const record of store.records.scan()) expect(JSON.stringify(record)).not.toContain(key);

  expect((await admin("POST", "/v1/keys", input)).body.error).toMatchObject({ code: "already_exists" });
  const { data } = (await admin("GET", "/v1/keys")).body;
  expect(data.map(({ name }: { name: string }) => name).sort()).toEqual(["ci", "root"]);
  expect(JSON.stringify(data)).not.toContain(key);
  // An admin sees no keys of other tenants. A key without the scope admin sees no keys.
  expect((await stranger("GET", "/v1/keys")).body.data).toHaveLength(1);
  for (const [method, path] of [
    ["DELETE", ""],
    ["POST", "/rotate"],
    ["GET", "/policy"],
  ] as const) {
    expect((await stranger(method, `/v1/keys/${id}${path}`, method === "POST" ? {} : undefined)).status).toBe(404);
    expect((await as(key)(method, `/v1/keys/${id}${path}`, method === "POST" ? {} : undefined)).status).toBe(403);
  }
  expect((await admin("DELETE", `/v1/keys/${id}`)).status).toBe(204);
  expect((await admin("DELETE", `/v1/keys/${id}`)).status).toBe(204);
  const refused = await as(key)("GET", "/v1/me");
  expect([refused.status, refused.body.error.message]).toEqual([
    401,
    expect.stringContaining("was revoked on 2026-11-18"),
  ]);
  await server.close();
});

test.each([
  [{ name: "", scopes: ["run"] }],
  [{ name: "a", scopes: [] }],
  [{ name: "a", scopes: ["god"] }],
  [{ name: "a", scopes: ["run"], expires_at: "2020-01-01T00:00:00Z" }],
  [{ name: "a", scopes: ["run"], expires_at: "tomorrow" }],
  [{ name: "a", scopes: ["run"], tenant: "theirs" }],
])("a key cannot be created with %j", async (input) => {
  const { server, admin } = await clockServer();
  expect((await admin("POST", "/v1/keys", input)).status).toBe(422);
  expect((await admin("GET", "/v1/keys")).body.data).toHaveLength(1);
  await server.close();
});

test("an expired key is rejected with a message that names the time, even if it was valid a moment ago", async () => {
  const { server, as, admin, listed, pass, now } = await clockServer();
  const expires_at = new Date(now() + DAY_MS).toISOString();
  const { key, id } = (await admin("POST", "/v1/keys", { name: "day", scopes: ["run"], expires_at })).body;
  pass(DAY_MS - 1);
  expect((await as(key)("GET", "/v1/me")).body.key.expires_at).toBe(expires_at);
  pass(1);
  const refused = await as(key)("GET", "/v1/me");
  expect([refused.status, refused.body.error.message]).toEqual([
    401,
    expect.stringContaining(`expired on ${expires_at}`),
  ]);
  expect((await admin("POST", `/v1/keys/${id}/rotate`, {})).status).toBe(409);
  expect(await listed("day")).toMatchObject([{ name: "day", state: "expired" }]);
  await server.close();
});

test("a rotated key and its new key both work until the overlap is over", async () => {
  const { server, as, admin, listed, pass, now } = await clockServer();
  const expires_at = new Date(now() + 30 * DAY_MS).toISOString();
  const old = (await admin("POST", "/v1/keys", { name: "ci", owner: "A", scopes: ["run"], expires_at })).body;
  pass(29 * DAY_MS);
  const next = (await admin("POST", `/v1/keys/${old.id}/rotate`, { overlap_seconds: 60 })).body;
  // The new key is valid for 30 days from now, as the old key was from its creation.
  expect(next).toMatchObject({ name: "ci", owner: "A", expires_at: new Date(now() + 30 * DAY_MS).toISOString() });
  expect((await admin("POST", `/v1/keys/${old.id}/rotate`, {})).body.error.message).toContain("rotated before");
  const statuses = async () => [
    (await as(old.key)("GET", "/v1/me")).status,
    (await as(next.key)("GET", "/v1/me")).status,
  ];
  pass(59_000);
  expect(await statuses()).toEqual([200, 200]);
  pass(1000);
  expect(await statuses()).toEqual([401, 200]);
  expect((await listed("ci")).find((key: { id: string }) => key.id === old.id)).toMatchObject({
    id: old.id,
    replaced_by: next.id,
    state: "expired",
  });
  await server.close();
});

test("the last admin key of a tenant cannot be revoked", async () => {
  const { server, admin, pass, now } = await clockServer();
  const expires_at = new Date(now() + DAY_MS).toISOString();
  const second = (await admin("POST", "/v1/keys", { name: "second", scopes: ["admin"], expires_at })).body;
  const first = (await admin("GET", "/v1/keys")).body.data.find(({ name }: { name: string }) => name === "root");
  pass(DAY_MS);
  // The other admin key has expired.
  const refused = await admin("DELETE", `/v1/keys/${first.id}`);
  expect([refused.status, refused.body.error.message]).toEqual([409, expect.stringContaining("last admin key")]);
  expect((await admin("DELETE", `/v1/keys/${second.id}`)).status).toBe(204);
  await server.close();
});

test("the last use of a key is known to the minute", async () => {
  const { server, as, admin, listed, pass, now } = await clockServer();
  const { key } = (await admin("POST", "/v1/keys", { name: "ci", scopes: ["read"] })).body;
  const lastUse = async () => (await listed("ci"))[0].last_used_at;
  expect(await lastUse()).toBeNull();
  const first = new Date(now()).toISOString();
  await as(key)("GET", "/v1/me");
  pass(30_000);
  await as(key)("GET", "/v1/me");
  expect(await lastUse()).toBe(first);
  pass(30_000);
  await as(key)("GET", "/v1/me");
  expect(await lastUse()).toBe(new Date(now()).toISOString());
  await server.close();
});

test("600 wrong keys get 401 and soon 429, and a valid key from the same address is still accepted", async () => {
  const { server, as, admin } = await clockServer();
  const statuses = new Map<number, number>();
  for (let at = 0; at < 600; at += 1) {
    const { status } = await as(`skein_wrong-${at}`)("GET", "/v1/sessions");
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  expect([...statuses]).toEqual([
    [401, 30],
    [429, 570],
  ]);
  expect((await admin("GET", "/v1/sessions")).status).toBe(200);
  await server.close();
});

test("the policy of a key says in plain words what the key may do, and an admin can read the policy of another key", async () => {
  const { url, call } = await testServer({
    config: { policy: { keys: { ci: { runtimes: ["loop"], models: ["claude-haiku-*"], spendPerDayUsd: 5 } } } },
  });
  const { body } = await call("POST", "/v1/keys", { name: "ci", scopes: ["run"] });
  const own = await caller(url, String(body["key"]))("GET", "/v1/policy");
  expect(own.body).toMatchObject({
    key: { id: body.id, name: "ci" },
    tenant: "default",
    rules: { runtimes: ["loop"], models: ["claude-haiku-*"], tools: null, spend_per_day_usd: 5 },
  });
  expect(own.body["sentences"]).toContain("Models: claude-haiku-*.");
  expect(own.body["sentences"]).toContain("It cannot run Claude Code, which is not among its runtimes.");
  expect((await call("GET", `/v1/keys/${body.id}/policy`)).body).toEqual(own.body);
});
