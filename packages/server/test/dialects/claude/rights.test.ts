import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKeys } from "@skein/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createStub } from "../../../../adapters/test/claude-code/stub.ts";
import { openStore } from "../../../../skein/src/open-store.ts";
import { type Caller, caller } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { all, only, talk } from "./world.ts";

/**
 * An admin's session with the mode `bypassPermissions`, and a key that may not use this mode. A stub replaces Claude
 * Code.
 */

let home: string;
let server: ClaudeServer;
let key: string;
let lesser: Caller;
/** A key that may run agents but not Claude Code. */
let closedKey: string;
beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "skein-claude-rights-")));
  const storeUrl = `sqlite:${home}/skein.db`;
  const { executable } = await createStub(home, "exit 3");
  server = await claudeServer({ storeUrl, claude: { executable, bypassPermissions: true, keys: ["runner"] } });
  const store = await openStore(storeUrl);
  key = await createKeys({ records: store.records }).make({ name: "runner", scopes: ["run"], tenant: "default" });
  closedKey = await createKeys({ records: store.records }).make({ name: "guest", scopes: ["run"], tenant: "default" });
  await store.close();
  lesser = caller(server.url, key);
});
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

const prompt = "Go on.";

async function begun(options: Record<string, unknown>): Promise<string> {
  const { body } = await server.call("POST", "/api/v1/query/single", { prompt: "Hi.", ...options });
  return body["session_id"] as string;
}

async function expectRefused(id: string, cwd: string): Promise<void> {
  const asked: readonly [path: string, body: object][] = [
    [`/api/v1/sessions/${id}/resume`, { prompt }],
    [`/api/v1/sessions/${id}/fork`, { prompt }],
    ["/api/v1/query", { prompt, session_id: id }],
    ["/api/v1/query/single", { prompt, session_id: id }],
    ["/api/v1/query", { prompt, cwd, continue_conversation: true }],
    [`/api/v1/sessions/${id}/answer`, { answer: "allow" }],
    [`/v1/sessions/${id}/messages`, { role: "user", content: { text: prompt } }],
    [`/v1/sessions/${id}/awaits/toolu_x`, { content: "yes" }],
  ];
  for (const [path, body] of asked) {
    const { status, body: answer } = await lesser("POST", path, body);
    expect([path, status, answer.error?.code]).toEqual([path, 403, "not_allowed"]);
    expect(answer.error.message).toContain("needs a key with the scope admin");
  }
  const socket = await talk({ url: server.url, key });
  socket.send({ type: "prompt", prompt, session_id: id });
  expect(await socket.until(({ type }) => type === "error")).toMatchObject({ code: "not_allowed" });
  socket.close();
}

test("a key without the scope admin can continue a session that bypasses permissions only in another mode", async () => {
  const options = { permission_mode: "bypassPermissions", sandbox: { enabled: true }, cwd: server.work };
  const id = await begun(options);
  await expectRefused(id, server.work);
  const turns = async (): Promise<unknown> => (await server.call("GET", `/api/v1/sessions/${id}`)).body["total_turns"];
  expect(await turns()).toBe(1);
  const path = `/api/v1/sessions/${id}/resume`;
  for (const [asking, body] of [
    [
      { url: server.url, key },
      { prompt, permission_mode: "default" },
    ],
    [server, { prompt }],
  ] as const)
    expect(only(await all(asking, path, body), "done").data["reason"]).toBe("error");
  expect(await turns()).toBe(3);
  const fork = await all({ url: server.url, key }, `/api/v1/sessions/${id}/fork`, { prompt, permission_mode: "plan" });
  expect(only(fork, "done").data["reason"]).toBe("error");
});

test("a key without the scope admin cannot continue a session after control switched it to bypassing permissions", async () => {
  const id = await begun({ sandbox: { enabled: true } });
  const path = `/api/v1/sessions/${id}`;
  const change = { type: "permission_mode_change", permission_mode: "bypassPermissions" };
  expect((await lesser("POST", `${path}/control`, change)).status).toBe(403);
  expect((await server.call("POST", `${path}/control`, change)).status).toBe(200);
  expect((await lesser("POST", `${path}/resume`, { prompt })).status).toBe(403);
  // Every key may return to a mode with fewer rights.
  expect((await lesser("POST", `${path}/control`, { ...change, permission_mode: "default" })).status).toBe(200);
  expect((await lesser("POST", `${path}/resume`, { prompt })).status).toBe(200);
});

test("no route lets a key run Claude Code without the scope admin or the operator's permission", async () => {
  const id = await begun({});
  const guest = caller(server.url, closedKey);
  const { body: agent } = await server.call("POST", "/v1/agents", { name: "coder", runtime: "claude-code" });
  const asked: readonly [path: string, body: object][] = [
    ["/api/v1/query", { prompt }],
    ["/api/v1/query/single", { prompt, allowed_tools: ["Bash"] }],
    ["/api/v1/query", { prompt, session_id: id }],
    ["/api/v1/query", { prompt, session_id: id, fork_session: true }],
    ["/api/v1/query", { prompt, continue_conversation: true }],
    [`/api/v1/sessions/${id}/resume`, { prompt, permission_mode: "plan" }],
    [`/api/v1/sessions/${id}/fork`, { prompt }],
    [`/api/v1/sessions/${id}/answer`, { answer: "allow" }],
    [`/api/v1/sessions/${id}/control`, { type: "permission_mode_change", permission_mode: "acceptEdits" }],
    [`/v1/sessions/${id}/messages`, { role: "user", content: { text: prompt } }],
    [`/v1/sessions/${id}/awaits/toolu_x`, { content: "yes" }],
    ["/v1/sessions", { agent_id: agent["id"] }],
  ];
  for (const [path, body] of asked) {
    const { status, body: answer } = await guest("POST", path, body);
    expect([path, status, answer.error?.code]).toEqual([path, 403, "not_allowed"]);
    expect(answer.error.message).toContain('SKEIN_CLAUDE_KEYS="guest"');
  }
  const socket = await talk({ url: server.url, key: closedKey });
  socket.send({ type: "prompt", prompt });
  expect(await socket.until(({ type }) => type === "error")).toMatchObject({ code: "not_allowed" });
  socket.close();
  // The key may read the session and fork its log, because neither runs anything.
  expect((await guest("GET", `/api/v1/sessions/${id}`)).status).toBe(200);
  const { body: fork } = await guest("POST", `/v1/sessions/${id}/fork`, {});
  const said = { role: "user", content: { text: prompt } };
  expect((await guest("POST", `/v1/sessions/${fork["id"]}/messages`, said)).status).toBe(403);
});
