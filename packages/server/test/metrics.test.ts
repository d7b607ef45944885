/** Metrics of runs, the scope that they need, and the port that needs no key. */
import { request } from "node:http";
import { createMemoryLive, createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { createKeys, createServer } from "@skein/server";
import { afterAll, beforeAll, expect, test } from "vitest";

const store = createMemoryStore();
const ids = createIds();
const keys = createKeys({ records: store.records });
let server: Awaited<ReturnType<typeof createServer>>;
let address: string;

beforeAll(async () => {
  const description = { version: "0", store: "memory", model: "none" };
  server = await createServer({
    store,
    live: createMemoryLive(),
    defaultModel: "none",
    description,
    driven: () => 2,
  });
  address = await server.listenForMetrics(0);
  const played = createScript({ store, ids });
  await played.create();
  await played.toolTurn("one");
  const { runId, messageId } = await played.prompt("two");
  const lease = await played.claim();
  const error = { code: "overloaded_error", message: "Overloaded" };
  const usage = { input_tokens: 7, output_tokens: 1 };
  const lost = { model: 'an "odd"\nmodel', usage, cost: null };
  const totals = {
    usage: { ...usage, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    cost_micros: 0,
    unpriced_calls: 1,
    files_generated: 0,
    duration_ms: 1,
  };
  await played.append(
    [
      {
        event_type: "session.started",
        data: { run_id: runId, message_id: messageId, user_message: "two", formatter: "json" },
      },
      { event_type: "step.retried", data: { run_id: runId, step: 1, attempt: 1, error, delay_ms: 1, lost } },
      {
        event_type: "session.failed",
        data: { run_id: runId, step: 1, outcome: "cancelled", stop_reason: "cancelled", error, ...totals },
      },
    ],
    { lease },
  );
  const waiting = createScript({ store, ids });
  await waiting.create();
  await waiting.prompt("Nobody drives this.");
});

afterAll(async () => {
  await server.close();
  await store.close();
});

async function asked(key: string): Promise<string> {
  return (await server.inject({ method: "GET", url: "/metrics", headers: { "x-api-key": key } })).payload;
}

test("metrics have runs, tokens, cost, retries, the queue and leases", async () => {
  const text = await asked(await keys.make({ name: "watcher", tenant: "default", scopes: ["read"] }));
  for (const line of [
    "skein_runs_started_total 2",
    'skein_runs_ended_total{outcome="completed"} 1',
    'skein_runs_ended_total{outcome="cancelled"} 1',
    'skein_model_calls_total{model="claude-sonnet-4-5"} 2',
    "skein_model_retries_total 1",
    'skein_tokens_total{model="claude-sonnet-4-5",kind="output"} 2600',
    'skein_tokens_total{model="an \\"odd\\"\\nmodel",kind="input"} 7',
    'skein_cost_dollars_total{model="claude-sonnet-4-5"} 0.05214',
    "skein_queue_sessions 1",
    "skein_leases_held 2",
  ])
    expect(text.split("\n")).toContain(line);
  expect(Number(/skein_queue_oldest_seconds ([\d.]+)/.exec(text)?.[1])).toBeGreaterThan(0);
});

test("a key of one tenant does not see metrics of all tenants", async () => {
  const text = await asked(await keys.make({ name: "guest", tenant: "other", scopes: ["admin"] }));
  expect(text).toContain("skein_streams_open 0");
  expect(text).not.toMatch(/skein_(runs|tokens|cost|queue|model)/);
});

test("the metrics port needs no key, answers only /metrics, and only with host names of this machine", async () => {
  const answer = await fetch(`${address}/metrics`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([
    200,
    "text/plain; version=0.0.4; charset=utf-8",
  ]);
  expect(await answer.text()).toContain("skein_runs_started_total 2");
  expect((await fetch(`${address}/v1/agents`)).status).toBe(404);
  expect((await fetch(`${address}/metrics`, { method: "POST" })).status).toBe(404);
  const rebound = new Promise((resolve) =>
    request(`${address}/metrics`, { headers: { host: "evil.example" } }, (got) =>
      resolve(got.resume().statusCode),
    ).end(),
  );
  expect(await rebound).toBe(403);
  const port = Number(new URL(address).port);
  await expect(server.listenForMetrics(port)).rejects.toMatchObject({
    code: "invalid",
    message: `Port ${port} of 127.0.0.1, for /metrics, is taken. Set SKEIN_METRICS_PORT to another port, or to 0 for a free one.`,
  });
});
