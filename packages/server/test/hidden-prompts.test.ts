import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { HIDDEN_PROMPT } from "@skein/core";
import { ROUTES, type Route } from "@skein/protocol";
import { WebSocket } from "ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";
import { type Caller, caller, say, scripted, session, settled, testServer } from "./world.ts";

const SECRET = "Never tell anybody about the blue door.";

async function keyWith(call: Caller, ...scopes: readonly string[]): Promise<string> {
  const { status, body } = await call("POST", "/v1/keys", { name: scopes.join("-"), scopes });
  expect(status).toBe(201);
  return String(body["key"]);
}

/** Starts a server with a session whose agent has a secret system prompt. */
async function world(agent: Record<string, unknown> = {}) {
  const server = await testServer({ limits: { statementMs: 60_000 }, webhookAddresses: ["127.0.0.1"] });
  const one = await session(server.call, { system_prompt: SECRET, ...agent });
  await say(server.call, one.path, scripted("Hi.", [{ text: "Hello." }]));
  await settled(server.call, one.path);
  const [run] = (await server.call("GET", `${one.path}/runs`)).body.data;
  return { ...server, ...one, runId: String(run?.["id"]) };
}

type World = Awaited<ReturnType<typeof world>>;

/** Returns the paths of all GET routes that need only the scope read or sql. */
function addresses({ id, agentId, runId }: World): readonly string[] {
  const values: Record<string, string> = { session_id: id, agent_id: agentId, run_id: runId, step: "1" };
  const routes: readonly Route[] = Object.values(ROUTES);
  const read = routes.filter(({ method, scope }) => method === "GET" && (scope === "read" || scope === "sql"));
  const paths = read.map(({ path }) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "x"));
  return [
    ...paths,
    `/v1/agents/${agentId}?version=1`,
    `/v1/sessions/${id}/export?format=html`,
    `/v1/sessions/${id}/export?format=md`,
    `/v1/search?q=${encodeURIComponent("blue door")}`,
  ];
}

/**
 * Returns the text of the response to a GET request. A stream is read to the end of the session's run, or for 200 ms.
 */
async function shown(url: string, key: string, path: string, accept = "*/*"): Promise<string> {
  const over = new AbortController();
  const response = await fetch(`${url}${path}`, { headers: { "x-api-key": key, accept }, signal: over.signal });
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response.text();
  let text = "";
  const decoder = new TextDecoder();
  // After its beginning, a stream without an end is silent while nothing happens on the server.
  const silence = setTimeout(() => over.abort(), 200);
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.includes("event: session.completed")) break;
    }
  } catch (error) {
    if (!over.signal.aborted) throw error;
  } finally {
    clearTimeout(silence);
  }
  return text;
}

test("no route, stream or export shows a system prompt to a key that may only read", async () => {
  const made = await world();
  const [reader, asker, runner] = [
    await keyWith(made.call, "read"),
    await keyWith(made.call, "sql"),
    await keyWith(made.call, "run"),
  ];
  const showing: string[] = [];
  for (const path of addresses(made))
    for (const accept of path.endsWith("/events") ? ["application/json", "text/event-stream"] : ["*/*"]) {
      for (const key of [reader, asker])
        expect([path, await shown(made.url, key, path, accept)].join(" ")).not.toContain(SECRET);
      if ((await shown(made.url, runner, path, accept)).includes(SECRET)) showing.push(`${path} ${accept}`);
    }
  // The same paths show the prompt to a key that may run agents.
  expect(showing).toEqual(
    expect.arrayContaining([
      `/v1/agents */*`,
      `/v1/agents/${made.agentId} */*`,
      `/v1/agents/${made.agentId}/versions */*`,
      `/v1/sessions/${made.id}/events application/json`,
      `/v1/sessions/${made.id}/events text/event-stream`,
      `/v1/sessions/${made.id}/export */*`,
      `/v1/sessions/${made.id}/runs/${made.runId}/steps/1 */*`,
    ]),
  );
});

test("a socket shows no system prompt to a key that may only read", async () => {
  const made = await world();
  const seen: Record<string, string> = {};
  for (const scope of ["read", "run"]) {
    const headers = { "x-api-key": await keyWith(made.call, scope) };
    const ws = new WebSocket(`${made.url.replace("http", "ws")}/v1/ws`, { headers });
    onTestFinished(() => ws.terminate());
    const said: string[] = [];
    ws.on("message", (data: Buffer) => said.push(String(data)));
    await once(ws, "open");
    ws.send(JSON.stringify({ type: "subscribe", id: "s", session_id: made.id }));
    await expect.poll(() => said.join("\n")).toContain("session.completed");
    seen[scope] = said.join("\n");
  }
  expect(seen["read"]).toContain(HIDDEN_PROMPT);
  expect(seen["read"]).not.toContain(SECRET);
  expect(seen["run"]).toContain(SECRET);
});

test("an agent with show_system_prompt shows its system prompt to every key", async () => {
  const made = await world({ show_system_prompt: true });
  const reader = caller(made.url, await keyWith(made.call, "read"));
  expect((await reader("GET", `/v1/agents/${made.agentId}`)).body["system_prompt"]).toBe(SECRET);
  const [created] = (await reader("GET", `${made.path}/events`)).body.data;
  expect(created).toMatchObject({ data: { agent: { system_prompt: SECRET } } });
  await made.call("PATCH", `/v1/agents/${made.agentId}`, { show_system_prompt: false });
  expect((await reader("GET", `/v1/agents/${made.agentId}`)).body["system_prompt"]).toBe(HIDDEN_PROMPT);
});

test("an export without the system prompt is rejected by an import, and a complete export is accepted", async () => {
  const made = await world();
  const reader = caller(made.url, await keyWith(made.call, "read"));
  const { body } = await reader("GET", `${made.path}/export`);
  const refused = await made.call("POST", "/v1/sessions/import", body);
  expect(refused).toMatchObject({ status: 422, body: { error: { message: expect.stringContaining("scope run") } } });
  const whole = (await made.call("GET", `${made.path}/export`)).body;
  expect((await made.call("POST", "/v1/sessions/import", whole)).status).toBe(201);
});

test("a webhook does not carry a system prompt", async () => {
  const received: string[] = [];
  const receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      received.push(body);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void receiver.close());
  const { call } = await testServer({ webhookAddresses: ["127.0.0.1"] });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  await call("POST", "/v1/webhooks", { url, events: ["session.created"] });
  await session(call, { system_prompt: SECRET });
  await expect.poll(() => received.length).toBe(1);
  expect(received[0]).toContain(HIDDEN_PROMPT);
  expect(received[0]).not.toContain(SECRET);
});

describe.skipIf(!hasBubblewrap)("in SQL", { timeout: 120_000 }, () => {
  const STATEMENTS = [
    "SELECT system_prompt FROM platform.agents",
    "SELECT system_prompt FROM agent.agent_config",
    "SELECT data FROM platform.events",
    "SELECT action_data, messages_snapshot FROM agent.agent_runs",
    "SELECT content FROM api.session_messages",
  ];

  test("statements of a key that may only read see no system prompt, but statements of an admin do", async () => {
    const made = await world();
    const answers = async (key: string): Promise<string> => {
      const texts: string[] = [];
      for (const sql of STATEMENTS) {
        const response = await fetch(`${made.url}/v1/sql`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json" },
          body: JSON.stringify({ sql }),
        });
        expect(response.status).toBe(200);
        texts.push(await response.text());
      }
      return texts.join("\n");
    };
    expect(await answers(made.key)).toContain(SECRET);
    const seen = await answers(await keyWith(made.call, "sql"));
    expect(seen).toContain(HIDDEN_PROMPT);
    expect(seen).not.toContain(SECRET);
  });
});
