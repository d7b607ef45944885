import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { sdkProblem } from "../../../../skein/src/serve/sdk-problem.ts";
import { serveSettings } from "../../../../skein/src/serve/settings.ts";
import { readConfig } from "../../../../skein/src/config.ts";
import { testServer } from "../../world.ts";
import { claudeServer } from "./server.ts";
import { all } from "./world.ts";

test("a server without Claude Code rejects queries with a reason, and lists sessions", async () => {
  const server = await claudeServer({ claudeCode: false });
  onTestFinished(() => server.close());
  const health = await server.call("GET", "/api/v1/health");
  expect(health.body).toMatchObject({ status: "degraded", dependencies: { claude_code: { status: "error" } } });
  const { error } = (health.body["dependencies"] as Record<string, { error: string }>)["claude_code"] ?? { error: "" };
  expect(error).toMatch(/does not run Claude Code/);
  const open = (await (await fetch(`${server.url}/api/v1/health`)).json()) as object;
  expect(open).toMatchObject({ status: "degraded", dependencies: { claude_code: { status: "error" } } });
  expect(JSON.stringify(open)).not.toContain(error);
  await expect(all(server, "/api/v1/query", { prompt: "Hi." })).rejects.toMatchObject({
    status: 503,
    code: "SERVICE_UNAVAILABLE",
  });
  expect((await server.call("POST", "/api/v1/query/single", { prompt: "Hi." })).status).toBe(503);
  expect((await server.call("GET", "/api/v1/sessions")).body).toMatchObject({ sessions: [], total: 0 });
  const agent = await server.call("POST", "/v1/agents", { name: "C", runtime: "claude-code" });
  expect([agent.status, agent.body.error.message]).toEqual([422, expect.stringMatching(/no runtime "claude-code"/)]);
  // This is not an error of the server, so the server logs none.
  expect(server.logged.filter(({ level }) => level === "error")).toEqual([]);
});

test("without a key of the model's API, the built-in simulation answers a query of Claude Code", async () => {
  const server = await testServer();
  const { status, body } = await server.call("POST", "/api/v1/query/single", { prompt: "How much is 2+2?" });
  expect([status, body["is_error"], body["stop_reason"]]).toEqual([200, false, "completed"]);
  expect(String(body["result"])).not.toBe("");
});

test("if the SDK or its program is not installed, an error says what to do", () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-without-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const from = pathToFileURL(`${folder}/index.js`).href;
  const install = (name: string): void => {
    mkdirSync(join(folder, "node_modules", name), { recursive: true });
    writeFileSync(join(folder, "node_modules", name, "package.json"), "{}");
  };
  expect(sdkProblem({ from })).toMatch(/npm install @anthropic-ai\/claude-agent-sdk$/);
  install("@anthropic-ai/claude-agent-sdk");
  expect(sdkProblem({ from })).toMatch(/program for \S+ is not installed: npm install \S+ --include=optional$/);
  expect(sdkProblem({ from, executable: "/usr/bin/claude" })).toBeUndefined();
  install(`@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}`);
  expect(sdkProblem({ from })).toBeUndefined();
  expect(sdkProblem()).toBeUndefined();
});

test("SKEIN_CLAUDE_CODE accepts on and off", () => {
  const claudeCode = (value?: string): boolean =>
    serveSettings({}, readConfig(value === undefined ? {} : { SKEIN_CLAUDE_CODE: value })).claudeCode;
  expect([claudeCode(), claudeCode("on"), claudeCode("off")]).toEqual([true, true, false]);
  expect(() => claudeCode("maybe")).toThrow(/Expected "on" or "off"/);
});
