/** The server serves the built console: its files, their headers, and the response for a path that is not a file. */
import { mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder, testServer } from "./world.ts";

const PAGE = "<!doctype html><title>Skein</title><script type=module src=/assets/index-1a2b.js></script>";
const SCRIPT = "console.log('console');";

function built(): string {
  const path = join(folder(), "dist");
  mkdirSync(join(path, "assets"), { recursive: true });
  writeFileSync(join(path, "index.html"), PAGE);
  writeFileSync(join(path, "icon.svg"), "<svg xmlns='http://www.w3.org/2000/svg'/>");
  writeFileSync(join(path, "assets", "index-1a2b.js"), SCRIPT);
  writeFileSync(join(path, "..", "secret.html"), "outside");
  return path;
}

const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

test.each(["/", "/sessions", "/sessions/0198?at=4", "/agents/x/edit", "/settings"])(
  "%s is a page of the console, and needs no key",
  async (path) => {
    const { url } = await testServer({ console: built() });
    const answer = await fetch(`${url}${path}`, { headers: HTML });
    expect([answer.status, await answer.text()]).toEqual([200, PAGE]);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("cache-control")).toBe("no-cache");
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
    expect(answer.headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  },
);

test("browsers cache assets for a year, and a repeated request gets 304", async () => {
  const { url } = await testServer({ console: built() });
  const answer = await fetch(`${url}/assets/index-1a2b.js`);
  expect([answer.status, await answer.text()]).toEqual([200, SCRIPT]);
  expect(answer.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  for (const path of ["/assets/index-1a2b.js", "/"]) {
    const tag = (await fetch(`${url}${path}`, { headers: HTML })).headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[\w-]{22}"$/);
    const again = await fetch(`${url}${path}`, { headers: { ...HTML, "if-none-match": tag } });
    expect([path, again.status, await again.text()]).toEqual([path, 304, ""]);
  }
});

test("HEAD has the headers of a page and no body", async () => {
  const { url } = await testServer({ console: built() });
  for (const path of ["/", "/sessions", "/icon.svg"]) {
    const answer = await fetch(`${url}${path}`, { method: "HEAD", headers: HTML });
    expect([path, answer.status, await answer.text()]).toEqual([path, 200, ""]);
    expect(Number(answer.headers.get("content-length"))).toBeGreaterThan(0);
  }
  expect((await fetch(`${url}/health`, { method: "HEAD", headers: HTML })).status).toBe(401);
});

test("requests for addresses that are not pages of the console are answered by the API", async () => {
  const { url, call } = await testServer({ console: built() });
  for (const path of ["/v1/nothing", "/v1", "/api/v1/nothing", "/v1/sessions"])
    expect([path, (await fetch(`${url}${path}`, { headers: HTML })).status]).toEqual([path, 401]);
  expect((await call("GET", "/v1/nothing", undefined, HTML)).status).toBe(404);
  expect((await fetch(`${url}/sessions`, { headers: { accept: "application/json" } })).status).toBe(401);
  expect((await call("GET", "/sessions")).status).toBe(404);
  expect((await call("POST", "/sessions", {}, HTML)).status).toBe(404);
  expect((await call("DELETE", "/v1/sessions", undefined, HTML)).status).toBe(405);
  expect((await fetch(`${url}/assets/missing-1.js`, { headers: HTML })).status).toBe(404);
  expect((await fetch(`${url}/health`, { headers: HTML })).headers.get("content-type")).toMatch(/json/);
  expect((await fetch(`${url}/docs`, { headers: HTML })).status).toBe(401);
});

test.each([
  "/../secret.html",
  "/assets/../../secret.html",
  "/assets/%2e%2e/%2e%2e/secret.html",
  "/..%2fsecret.html",
  "/assets/..%5c..%5csecret.html",
  "//secret.html",
  "/%00.html",
  "/.env.json",
])("the path %s reads no file outside the built console", async (path) => {
  const { url } = await testServer({ console: built() });
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => (text += String(chunk)));
    socket.on("close", () => resolve(text));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  });
  expect(answer).toMatch(/^HTTP\/1\.1 40[014] /);
  expect(answer).not.toContain("outside");
});

test("without a build the first page describes the server", async () => {
  const { url } = await testServer({ console: folder() });
  const answer = await fetch(url, { headers: HTML });
  expect([answer.status, await answer.text()]).toEqual([
    200,
    expect.stringContaining("Runs AI agents and keeps what they did"),
  ]);
  expect((await fetch(`${url}/sessions`, { headers: HTML })).status).toBe(401);
});

test("if the built console is replaced while the server runs, the new files are served immediately", async () => {
  const path = built();
  const { url } = await testServer({ console: path });
  await fetch(url, { headers: HTML });
  writeFileSync(join(path, "index.html"), "<!doctype html><title>New</title>");
  expect(await (await fetch(url, { headers: HTML })).text()).toContain("New");
});
