/** Logins of browsers: a cookie replaces the key, and pages of other origins cannot use it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createMemoryLive, createMemoryStore } from "@skein/core";
import { createKeys, createServer } from "@skein/server";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { caller, folder, openFrames, session, testServer } from "../../world.ts";

async function loggedIn(options: Parameters<typeof testServer>[0] = {}) {
  const server = await testServer(options);
  const answer = await caller(server.url, undefined)("POST", "/v1/login", { key: server.key });
  const header = answer.headers.get("set-cookie") ?? "";
  const cookie = header.split(";")[0] ?? "";
  const browser = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    caller(server.url, undefined)(method, path, body, { cookie, "sec-fetch-site": "same-origin", ...headers });
  return { ...server, answer, header, cookie, browser };
}

test("a login answers with a cookie that scripts cannot read, and the cookie replaces the key", async () => {
  const { answer, header, key, browser, url } = await loggedIn();
  expect(answer.status).toBe(204);
  const port = new URL(url).port;
  expect(header).toMatch(new RegExp(`^skein-${port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200$`));
  expect(header).not.toContain(key);
  const { status, body } = await browser("GET", "/v1/me");
  expect([status, body]).toEqual([
    200,
    {
      key: {
        id: expect.stringMatching(/^[0-9a-f]{12}$/),
        name: "first start",
        owner: null,
        expires_at: null,
        scopes: ["admin"],
      },
      caps: [],
      tenant: "default",
      expires_at: expect.any(String),
      server: {
        version: expect.any(String),
        store: expect.any(String),
        model: { name: expect.any(String), simulated: true },
        history: { available: false, reason: expect.stringContaining("SKEIN_HISTORY"), roots: [] },
        sql: {
          available: expect.any(Boolean),
          reason: expect.toSatisfy((reason) => reason === null || reason !== ""),
          history: false,
        },
        claude_code: expect.any(Boolean),
        console: false,
      },
    },
  ]);
  const hours = (Date.parse(String(body["expires_at"])) - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(11.9);
  expect(hours).toBeLessThan(12.1);
  expect((await browser("POST", "/v1/agents", { name: "By cookie" })).status).toBe(201);
});

test("/v1/me with a key instead of a login has no expiry time", async () => {
  const { call } = await testServer();
  expect((await call("GET", "/v1/me")).body).toMatchObject({ tenant: "default", expires_at: null });
});

test("/v1/me says whether statements of the caller may read the sessions of coding agents", async () => {
  const home = folder();
  mkdirSync(join(home, "projects"));
  const { url, call } = await testServer({ sqlHistory: [home] });
  const { body } = await call("POST", "/v1/keys", { name: "guest", scopes: ["sql"] });
  const guest = caller(url, String(body["key"]));
  for (const [who, history] of [
    [call, true],
    [guest, false],
  ] as const)
    expect((await who("GET", "/v1/me")).body).toMatchObject({ server: { sql: { history } } });
});

test("if the Origin of the login is an https address, the cookie is Secure", async () => {
  const { url, key } = await testServer();
  const { headers } = await caller(url, undefined)(
    "POST",
    "/v1/login",
    { key },
    { origin: url.replace("http:", "https:") },
  );
  expect(headers.get("set-cookie")).toMatch(/; Secure$/);
});

test.each([
  ["a page of another site", { "sec-fetch-site": "cross-site" }],
  ["a page of another port of this machine", { "sec-fetch-site": "same-site" }],
  ["an address that was typed in", { "sec-fetch-site": "none" }],
  ["a browser that sends an empty Sec-Fetch-Site", { "sec-fetch-site": "" }],
])("%s cannot write with the cookie", async (_, headers) => {
  const { url, cookie, call } = await loggedIn();
  const browser = caller(url, undefined);
  const answer = await browser("POST", "/v1/agents", { name: "Foreign" }, { cookie, ...headers });
  expect([answer.status, answer.body.error.code]).toEqual([403, "forbidden"]);
  expect((await call("GET", "/v1/agents")).body.data).toEqual([]);
});

test("a page of another origin reads nothing with the cookie", async () => {
  const { url, cookie } = await loggedIn();
  for (const site of ["cross-site", "same-site"]) {
    const answer = await fetch(`${url}/v1/agents`, { headers: { cookie, "sec-fetch-site": site } });
    expect([site, answer.status]).toEqual([site, 401]);
  }
});

test("an allowed origin may call with a key, but not with the cookie", async () => {
  const origin = "http://localhost:3999";
  const { url, key, cookie } = await loggedIn({ allowedOrigins: [origin] });
  const browser = caller(url, undefined);
  expect((await browser("POST", "/v1/agents", { name: "A" }, { cookie, origin })).status).toBe(403);
  expect((await browser("POST", "/v1/agents", { name: "A" }, { cookie, origin, "x-api-key": key })).status).toBe(201);
  const answer = await fetch(`${url}/v1/me`, { headers: { cookie, origin, "sec-fetch-site": "same-origin" } });
  expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
});

test("a browser without Sec-Fetch-Site can write with the server's own Origin", async () => {
  const { url, cookie } = await loggedIn();
  const answer = await caller(url, undefined)("POST", "/v1/agents", { name: "A" }, { cookie, origin: url });
  expect(answer.status).toBe(201);
});

test("logout ends the login and its streams, but no other login of the key", async () => {
  const { url, key, cookie, browser, call } = await loggedIn();
  const { path } = await session(call);
  const other = await caller(url, undefined)("POST", "/v1/login", { key });
  const otherCookie = other.headers.get("set-cookie")?.split(";")[0] ?? "";
  const stream = await openFrames(`${url}${path}/events`, { cookie, "sec-fetch-site": "same-origin" });
  const out = await browser("POST", "/v1/logout");
  expect([out.status, out.headers.get("set-cookie")]).toEqual([204, expect.stringMatching(/=; .*Max-Age=0$/)]);
  expect((await stream.rest).at(-1)).toMatchObject({ event: "stream.closing", data: { reason: "revoked" } });
  const after = await browser("GET", "/v1/me");
  expect([after.status, after.body.error.message]).toEqual([401, "This login has ended. Log in again with a key."]);
  expect((await fetch(`${url}/v1/me`, { headers: { cookie: otherCookie } })).status).toBe(200);
  expect((await browser("POST", "/v1/logout")).status).toBe(204);
});

test("a WebSocket can be opened with the cookie only by pages of this server", async () => {
  const { url, cookie } = await loggedIn({ allowedOrigins: ["http://localhost:3999"] });
  const opened = (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws`, ["skein"], { headers });
      socket.on("open", () => (socket.close(), resolve(101)));
      socket.on("unexpected-response", (_, answer) => (answer.resume(), resolve(answer.statusCode ?? 0)));
      socket.on("error", () => {});
    });
  expect(await opened({ cookie, origin: url })).toBe(101);
  expect(await opened({ cookie, origin: "http://localhost:3999" })).toBe(403);
  expect(await opened({ cookie })).toBe(403);
  expect(await opened({ origin: url })).toBe(401);
});

test("wrong keys get 401 and then 429, and a valid key still logs in", async () => {
  const { url, key } = await testServer({ limits: { wrongKeysPerMinute: 3 } });
  const login = (given: string) => caller(url, undefined)("POST", "/v1/login", { key: given });
  const statuses = [];
  for (let at = 0; at < 5; at += 1) statuses.push((await login(`skein_wrong${at}`)).status);
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect((await login(key)).status).toBe(204);
  for (const body of [{}, { key: "" }, { key: "x".repeat(501) }, { key: 1 }, { key: "a", more: 1 }])
    expect((await caller(url, undefined)("POST", "/v1/login", body)).status).toBe(422);
});

test("cookies that are not a login are ignored", async () => {
  const { url } = await testServer();
  const { port } = new URL(url);
  for (const value of ["", "x", "'; drop table records", "A".repeat(43), "../../x"])
    expect((await fetch(`${url}/v1/me`, { headers: { cookie: `a=b; skein-${port}=${value}` } })).status).toBe(401);
});

test("a login is stored as a hash, ends after its time or with its key, and is then removed", async () => {
  let time = Date.parse("2026-11-16T12:00:00.000Z");
  const store = createMemoryStore();
  const now = () => time;
  const keys = createKeys({ records: store.records, now });
  const key = await keys.make({ name: "guest", scopes: ["read"], tenant: "default" });
  const deps = {
    store,
    live: createMemoryLive(),
    defaultModel: "none",
    description: { version: "0", store: "memory", model: "none" },
    now,
  };
  const server = await createServer(deps);
  const login = async () => {
    const answer = await server.inject({ method: "POST", url: "/v1/login", payload: { key } });
    return String(answer.headers["set-cookie"]).split(";")[0] ?? "";
  };
  const status = async (cookie: string) =>
    (await server.inject({ method: "GET", url: "/v1/me", headers: { cookie } })).statusCode;
  const kept = async () => (await store.records.list({ tenant: "$keys", kind: "login" })).items;

  const first = await login();
  expect(JSON.stringify(await kept())).not.toContain(first.split("=")[1]);
  expect(await status(first)).toBe(200);
  time += 12 * 3_600_000;
  expect(await status(first)).toBe(401);
  const second = await login();
  expect(await status(second)).toBe(200);
  await server.close();
  const restarted = await createServer(deps);
  await expect.poll(async () => (await kept()).length).toBe(1);
  await keys.revoke("guest");
  const answer = await restarted.inject({ method: "GET", url: "/v1/me", headers: { cookie: second } });
  expect(answer.statusCode).toBe(401);
  await restarted.close();
});
