import { connect } from "node:net";
import { createKeys, createServer } from "@skein/server";
import { createMemoryLive, createMemoryStore } from "@skein/core";
import { expect, test } from "vitest";
import { session, testServer } from "./world.ts";

/** Wrong keys as scanners send them. A store must treat them as values, and never as a part of its query. */
const PAYLOADS = [
  "'",
  '"',
  "' OR '1'='1",
  "' OR 1=1 --",
  "') OR ('a'='a",
  "admin'--",
  "1; DROP TABLE records",
  "1 UNION SELECT NULL,NULL,NULL--",
  "' AND SLEEP(5)--",
  "'; SELECT pg_sleep(5)--",
  "$where: sleep(5000)",
  '{"$gt":""}',
  "%27%20OR%201%3D1",
  "\\' OR 1=1 --",
  "`id`",
  "$(id)",
  "|id",
  "../../etc/passwd",
  "%00",
  "%s%s%s%n",
  "{{7*7}}",
  "${jndi:ldap://x}",
  "<script>1</script>",
  "__proto__",
  "constructor",
  "null",
  "undefined",
  "0",
  "x".repeat(500),
];

test("wrong keys of every kind get 401, and are not logged", async () => {
  const { url, logged } = await testServer({ limits: { wrongKeysPerMinute: 1000 } });
  for (const payload of PAYLOADS)
    for (const headers of [{ "x-api-key": payload }, { authorization: `Bearer ${payload}` }]) {
      const answer = await fetch(`${url}/v1/agents`, { headers });
      expect([payload, answer.status]).toEqual([payload, 401]);
    }
  expect(logged.filter(({ level }) => level === "error")).toEqual([]);
  expect(JSON.stringify(logged)).not.toMatch(/DROP TABLE|pg_sleep|jndi/);
});

test.each([
  ["status", { status: "completed" }],
  ["cost", { cost_micros: 0 }],
  ["parent", { parent_session_id: "00000000-0000-7000-8000-000000000000" }],
  ["fence", { fence: 99 }],
  ["id", { id: "00000000-0000-7000-8000-000000000000" }],
  ["tenant", { tenant: "other" }],
  ["a key of metadata that is SQL", { metadata: { "a') = 1 OR 1=1 --": 1 } }],
  ["a key of metadata with a path", { metadata: { '$.x"': 1 } }],
])("a session cannot be created or changed with a %s from the caller", async (_, fields) => {
  const { call } = await testServer();
  const { agentId, path } = await session(call);
  expect((await call("POST", `/v1/agents/${agentId}/sessions`, fields)).status).toBe(422);
  expect((await call("PATCH", path, fields)).status).toBe(422);
  expect((await call("GET", path)).body).toMatchObject({ status: "pending", cost_micros: 0, parent_session_id: null });
});

/** Sends a request exactly as written, which `fetch` would not do. */
function raw(url: string, lines: readonly string[], body = ""): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => (answer += String(chunk)));
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
    socket.write(`${[...lines, "Connection: close", "", ""].join("\r\n")}${body}`);
  });
}

test.each([
  ["no type", []],
  ["a type with a tab", ["Content-Type: application/json\ta"]],
  ["two types in one header", ["Content-Type: application/json, text/plain"]],
  ["a form", ["Content-Type: application/x-www-form-urlencoded"]],
])("a body with %s gets 415, because a form of another page can send it", async (_, types) => {
  const { url, key, call } = await testServer();
  const body = '{"name":"A"}';
  const lines = ["POST /v1/agents HTTP/1.1", "Host: localhost", `X-API-Key: ${key}`, `Content-Length: ${body.length}`];
  expect(await raw(url, [...lines, ...types], body)).toMatch(/^HTTP\/1\.1 415 /);
  expect((await call("GET", "/v1/agents")).body.data).toEqual([]);
});

test.each([["Host: evil.example"], ["Host: 127.0.0.1.evil.example"], ["Host: localhost:9@evil"], ["Host: "]])(
  "a request with the header %s is rejected at every path, even an unknown one",
  async (host) => {
    const { url } = await testServer();
    for (const path of ["/", "/health", "/v1/agents", "/nothing", "/v1/ws"])
      expect(await raw(url, [`GET ${path} HTTP/1.1`, host])).toMatch(/^HTTP\/1\.1 403 /);
  },
);

test("a request with two Host headers is rejected", async () => {
  const { url } = await testServer();
  expect(await raw(url, ["GET /health HTTP/1.1", "Host: localhost", "host: evil.example"])).toMatch(/^HTTP\/1\.1 400 /);
});

test("every answer forbids framing and type sniffing, and sets no cookie", async () => {
  const { url, key } = await testServer();
  for (const path of ["/", "/assets/home.js", "/health", "/v1/agents", "/nothing", "/docs", "/openapi.json"])
    for (const headers of [{}, { "x-api-key": key }] as Record<string, string>[]) {
      const answer = await fetch(`${url}${path}`, { headers });
      await answer.arrayBuffer();
      const policy = answer.headers.get("content-security-policy") ?? "";
      expect([path, policy]).toEqual([path, expect.stringContaining("frame-ancestors 'none'")]);
      expect(policy).not.toMatch(/unsafe|\*/);
      // A page may load the server's script. Every other answer may load nothing.
      const isPage = answer.headers.get("content-type")?.startsWith("text/html") ?? false;
      expect([path, policy.includes("script-src 'self'")]).toEqual([path, isPage]);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("set-cookie")).toBeNull();
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    }
});

test("a missing key and an unknown key have different errors", async () => {
  const { url } = await testServer();
  const said = async (headers: Record<string, string>) => {
    const answer = await fetch(`${url}/v1/agents`, { headers });
    return [answer.status, ((await answer.json()) as { error: { message: string } }).error.message];
  };
  expect(await said({})).toEqual([401, expect.stringMatching(/^Expected an API key/)]);
  expect(await said({ "x-api-key": "skein_nobody" })).toEqual([401, expect.stringMatching(/^Unknown API key/)]);
});

test("a key is stored as its hash, and a revoked key is rejected", async () => {
  const store = createMemoryStore();
  const keys = createKeys({ records: store.records });
  const key = await keys.make({ name: "guest", scopes: ["admin"], tenant: "default" });
  const { items } = await store.records.list({ tenant: "$keys", kind: "api_key" });
  expect(JSON.stringify(items)).not.toContain(key);
  const server = await createServer({
    store,
    live: createMemoryLive(),
    defaultModel: "none",
    description: { version: "0", store: "memory", model: "none" },
  });
  const status = async () =>
    (await server.inject({ method: "GET", url: "/v1/agents", headers: { "x-api-key": key } })).statusCode;
  await keys.revoke("guest");
  expect(await status()).toBe(401);
  await server.close();
});
