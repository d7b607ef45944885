import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMemoryStore } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { defineTool } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createTracing } from "../src/observe/tracing.ts";
import { scripted, session, settled, testServer } from "./world.ts";

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly status: { readonly code: number };
}

/** A collector on loopback, and what it was told. */
async function collector() {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      const { resourceSpans } = JSON.parse(text) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      if (request.url === "/v1/traces") spans.push(...(resourceSpans[0]?.scopeSpans[0]?.spans ?? []));
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans };
}

const add = defineTool({ name: "add", description: "Adds.", input: z.looseObject({}), run: () => 4 });

test("a run is told as spans with the GenAI names, inside the trace of its caller and without content", async () => {
  const { url, spans } = await collector();
  const { call } = await testServer({ traceEndpoint: url, config: { tools: [add] } });
  const { path, id } = await session(call, { tools: ["add"] });
  const text = scripted("A secret plan.", [{ tools: [{ name: "add", id: "call_1" }] }, { text: "Another secret." }]);
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await call("POST", `${path}/messages`, { role: "user", content: { text } }, { traceparent });
  await settled(call, path);
  await expect.poll(() => spans.length, { timeout: 20_000 }).toBe(4);
  expect(spans.map(({ name }) => name)).toEqual([
    "invoke_agent Helper",
    "chat claude-sonnet-5-5",
    "execute_tool add",
    "chat claude-sonnet-5-5",
  ]);
  const [run, ...inside] = spans;
  expect(run).toMatchObject({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    parentSpanId: "b7ad6b7169203331",
    status: { code: 0 },
  });
  for (const span of inside) expect([span.traceId, span.parentSpanId]).toEqual([run?.traceId, run?.spanId]);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
  const values = Object.fromEntries(
    inside[0]?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? [],
  );
  expect(values).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "anthropic",
    "gen_ai.conversation.id": id,
    "gen_ai.usage.output_tokens": expect.stringMatching(/^\d+$/),
  });
  expect(JSON.stringify(spans)).not.toMatch(/secret/);
});

test("a failed run is an error span in a trace of its own", async () => {
  const { url, spans } = await collector();
  const { call } = await testServer({ traceEndpoint: url });
  const { path } = await session(call, { max_retries: 0 });
  await call(
    "POST",
    `${path}/messages`,
    { role: "user", content: { text: scripted("Fail.", [{ error: { status: 400 } }]) } },
    { traceparent: "nonsense" },
  );
  await settled(call, path);
  await expect.poll(() => spans.length, { timeout: 20_000 }).toBe(2);
  expect(spans.map(({ status }) => status.code)).toEqual([2, 2]);
  expect(spans[0]?.traceId).toMatch(/^[0-9a-f]{32}$/);
});

test("the trace of a caller survives the process that was asked: whoever ends the run tells it there", async () => {
  const { url, spans } = await collector();
  const store = createMemoryStore();
  const script = createScript({ store, ids: createIds() });
  await script.create();
  const { runId, messageId } = await script.prompt("hi");
  const asked = createTracing({ store, endpoint: url, report: () => {} });
  await asked.remember(runId, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  asked.stop();

  const other = createTracing({ store, endpoint: url, report: () => {} });
  const lease = await script.claim();
  const started = { run_id: runId, message_id: messageId, user_message: "hi", formatter: "json" as const };
  const usage = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const totals = { usage, cost_micros: 0, unpriced_calls: 0, files_generated: 0, duration_ms: 0 };
  const ended = { run_id: runId, step: 0, stop_reason: "end_turn" as const, final_response: "", ...totals };
  await script.append([{ event_type: "session.started", data: started }], { lease });
  await script.append([{ event_type: "session.completed", data: ended }], { lease });
  await expect.poll(() => spans, { timeout: 20_000 }).toHaveLength(1);
  expect(spans[0]).toMatchObject({ traceId: "0af7651916cd43dd8448eb211c80319c", parentSpanId: "b7ad6b7169203331" });
  expect((await store.records.list({ tenant: "$trace", kind: "parent" })).items).toEqual([]);
  other.stop();
});
