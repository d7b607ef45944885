import { createAuditLog, createMemoryStore } from "@skein/core";
import { createKeys } from "@skein/server";
import { createIds } from "@skein/protocol";
import { openStore } from "skein";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";
import { anyStore } from "./any-store.ts";
import { caller, folder, say, scripted, session, testServer } from "./world.ts";

type Entry = Record<string, unknown>;

describe("the audit log of a server", () => {
  test("the audit log has the actor, origin and result of each action, and no secret", async () => {
    const store = await anyStore(folder());
    const { call, url } = await testServer({ store, webhookAddresses: ["127.0.0.1"] });
    const key = await call("POST", "/v1/keys", { name: "ci", scopes: ["run"] });
    const ci = caller(url, String(key.body["key"]));
    expect((await ci("POST", "/v1/agents", { name: "Mine" })).status).toBe(403);
    const { id, path, agentId } = await session(call);
    expect((await call("DELETE", `/v1/agents/${agentId}`)).status).toBe(200);
    expect((await call("POST", `/v1/agents/${agentId}/restore`)).status).toBe(200);
    expect((await ci("POST", `${path}/awaits/toolu_none`, { content: "yes" })).status).toBe(409);
    const exported = await call("GET", `${path}/export`);
    expect(exported.status).toBe(200);
    await call("POST", "/v1/webhooks", { url: "http://127.0.0.1:9/secret-path", events: ["session.completed"] });
    expect((await ci("DELETE", path)).status).toBe(204);
    const imported = await call("POST", "/v1/sessions/import", exported.body);
    expect(imported.status).toBe(201);
    expect((await call("POST", "/api/v1/sessions/adopt", { files: [] })).status).toBe(422);
    expect((await caller(url, "skein_wrong")("GET", "/v1/me")).status).toBe(401);
    expect((await call("POST", "/v1/login", { key: key.body["key"] })).status).toBe(204);
    expect((await call("POST", `/v1/keys/${key.body.id}/rotate`, {})).status).toBe(201);
    expect((await call("DELETE", `/v1/keys/${key.body.id}`)).status).toBe(204);

    const { body } = await call("GET", "/v1/audit?limit=200");
    const said = body.data
      .map(({ action, actor, target, outcome }: Entry) => [action, actor, target, outcome])
      .toReversed();
    const admin = "first start";
    expect(said).toEqual([
      ["key.create", admin, "ci", "done"],
      ["agent.create", "ci", null, "refused"],
      ["agent.create", admin, "Helper", "done"],
      ["agent.archive", admin, agentId, "done"],
      ["agent.restore", admin, agentId, "done"],
      ["await.answer", "ci", "toolu_none", "refused"],
      ["session.export", admin, id, "done"],
      ["webhook.create", admin, "127.0.0.1:9", "done"],
      ["session.delete", "ci", id, "done"],
      ["session.import", admin, imported.body.id, "done"],
      ["session.adopt", admin, null, "refused"],
      ["key.wrong", null, null, "refused"],
      ["login", "ci", null, "done"],
      ["key.rotate", admin, key.body.id, "done"],
      ["key.revoke", admin, key.body.id, "done"],
    ]);
    expect(body.data.every(({ address, request_id }: Entry) => address === "127.0.0.1" && request_id !== null)).toBe(
      true,
    );
    expect(body.data.find(({ outcome }: Entry) => outcome === "refused" && outcome)).toMatchObject({
      detail: expect.any(String),
    });
    expect(JSON.stringify(body)).not.toMatch(/secret-path|whsec_/);
    expect(JSON.stringify(body)).not.toContain(key.body["key"]);

    // The list has filters and pages.
    const asked = async (query: string) => (await call("GET", `/v1/audit?${query}`)).body;
    expect((await asked("actor=ci&outcome=refused")).data.map(({ action }: Entry) => action)).toEqual([
      "await.answer",
      "agent.create",
    ]);
    expect((await asked("action=session.delete")).data).toHaveLength(1);
    const first = await asked("limit=4");
    const second = await asked(`limit=200&cursor=${String(first["next_cursor"])}`);
    expect([...first.data, ...second.data].map(({ id: entry }: Entry) => entry)).toEqual(
      body.data.map(({ id: entry }: Entry) => entry),
    );
    expect((await asked(`since=${new Date(Date.now() + 60_000).toISOString()}`)).data).toEqual([]);
    expect((await asked(`until=${new Date(Date.now() - 60_000).toISOString()}`)).data).toEqual([]);
    expect((await call("GET", "/v1/audit?outcome=perhaps")).status).toBe(422);

    // The admin of another tenant sees none of these entries. No route changes or deletes an entry.
    const opened = /^(sqlite|postgres)/.test(store) ? await openStore(store) : undefined;
    if (opened) {
      const other = await createKeys({ records: opened.records }).make({
        name: "root",
        scopes: ["admin"],
        tenant: "other",
      });
      await opened.close();
      expect((await caller(url, other)("GET", "/v1/audit")).body.data).toEqual([]);
    }
    for (const method of ["DELETE", "PATCH", "POST"]) expect((await call(method, "/v1/audit", {})).status).toBe(405);
  });

  test("the audit log has rejected answers to a waiting tool and other rejected messages of a WebSocket", async () => {
    const { call, url } = await testServer();
    const { id } = await session(call);
    const tell = async (path: string, key: string, message: object): Promise<Record<string, unknown>> => {
      const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, { headers: { "x-api-key": key } });
      const answer = await new Promise<string>((resolve, reject) => {
        socket.once("error", reject);
        socket.on("message", (data: Buffer) => resolve(String(data)));
        socket.once("open", () => socket.send(JSON.stringify(message)));
      });
      socket.close();
      return JSON.parse(answer) as Record<string, unknown>;
    };
    const made = async (name: string, scope: string): Promise<string> =>
      String((await call("POST", "/v1/keys", { name, scopes: [scope] })).body["key"]);
    const ci = await made("ci", "run");
    const reader = await made("reader", "read");
    const answer = { type: "answer", session_id: id, tool_use_id: "toolu_1" };
    expect((await tell("/v1/ws", ci, { ...answer, id: "1", content: "yes" }))["type"]).toBe("error");
    expect((await tell("/v1/ws", reader, { ...answer, id: "1", content: "yes" }))["type"]).toBe("error");
    expect((await tell("/v1/ws", reader, { type: "cancel", id: "1", session_id: id }))["type"]).toBe("error");

    const { body } = await call("GET", "/v1/audit?limit=200");
    const said = body.data
      .filter(({ action }: Entry) => /^(await|refused)/.test(String(action)))
      .map(({ action, actor, target, outcome, address, detail }: Entry) => [
        action,
        actor,
        target,
        outcome,
        address,
        typeof detail,
      ])
      .toReversed();
    expect(said).toEqual([
      ["await.answer", "ci", "toolu_1", "refused", "127.0.0.1", "string"],
      ["await.answer", "reader", "toolu_1", "refused", "127.0.0.1", "string"],
      ["refused:cancel", "reader", id, "refused", "127.0.0.1", "string"],
    ]);
  });

  test("the audit log has answers over a WebSocket, and actions on parked sessions", async () => {
    const store = `sqlite:${folder()}/skein.db`;
    const { call, url, key } = await testServer({ store });
    const frontend_tools = [{ name: "pick", description: "Picks.", input_schema: { type: "object" } }];
    const { id, path } = await session(call, { frontend_tools });
    await say(call, path, scripted("Pick.", [{ tools: [{ name: "pick", id: "toolu_pick" }] }, { text: "Done." }]));
    await expect.poll(async () => (await call("GET", `${path}/awaits`)).body.data.length).toBe(1);
    const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws`, { headers: { "x-api-key": key } });
    const answer = { type: "answer", id: "1", session_id: id, tool_use_id: "toolu_pick", content: "blue" };
    const heard = await new Promise<string>((resolve, reject) => {
      socket.once("error", reject);
      socket.on("message", (data: Buffer) => resolve(String(data)));
      socket.once("open", () => socket.send(JSON.stringify(answer)));
    });
    socket.close();
    expect(JSON.parse(heard)).toMatchObject({ type: "ack", result: { disposition: "accepted" } });
    const { body: gone } = await call("POST", `/v1/parked-sessions/${id}/retry`, {});
    expect(gone.error.code).toBe("not_found");
    await call("DELETE", `/v1/parked-sessions/${id}`);
    const { body } = await call("GET", "/v1/audit?limit=200");
    const said = body.data
      .filter(({ action }: Entry) => /^(await|session)/.test(String(action)))
      .map(({ action, actor, target, outcome }: Entry) => [action, actor, target, outcome])
      .toReversed();
    expect(said).toEqual([
      ["await.answer", "first start", "toolu_pick", "done"],
      ["session.retry", "first start", id, "refused"],
      ["session.discard", "first start", id, "refused"],
    ]);
  });

  test.skipIf(!hasBubblewrap)("the audit log can be read in SQL", async () => {
    const { call, url, key } = await testServer();
    await call("POST", "/v1/keys", { name: "ci", scopes: ["run"] });
    const sql = "SELECT action, actor, target, outcome FROM skein.audit";
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const answer = await fetch(`${url}/v1/sql`, { method: "POST", headers, body: JSON.stringify({ sql }) });
    expect(await answer.text()).toContain('"key.create"');
  });
});

test("audit entries are removed only after their retention", async () => {
  const { records } = createMemoryStore();
  let time = Date.parse("2026-01-01T00:00:00Z");
  const now = (): number => time;
  const audit = createAuditLog({ records, ids: createIds({ now }), now, keepDays: 30 });
  for (const day of [0, 10, 20]) {
    time = Date.parse("2026-01-01T00:00:00Z") + day * 24 * 3600 * 1000;
    await audit.append(day === 10 ? "b" : "a", { action: `day.${day}` });
  }
  time = Date.parse("2026-02-10T00:00:01Z");
  await audit.sweep();
  expect((await audit.list("a")).items.map(({ action }) => action)).toEqual(["day.20"]);
  expect((await audit.list("b")).items).toEqual([]);
});

test("audit entries of every tenant are removed after their retention, even on a server with many tenants", async () => {
  const { records } = createMemoryStore();
  let time = Date.parse("2026-01-01T00:00:00Z");
  const now = (): number => time;
  const audit = createAuditLog({ records, ids: createIds({ now }), now, keepDays: 30 });
  const tenants = Array.from({ length: 1001 }, (_, index) => `t${index}`);
  for (const tenant of tenants) await audit.append(tenant, { action: "key.create" });
  time = Date.parse("2026-02-10T00:00:00Z");
  await audit.sweep();
  const left = await Promise.all(tenants.map(async (tenant) => (await audit.list(tenant)).items));
  expect(left.flat()).toEqual([]);
});
