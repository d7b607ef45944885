import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Step } from "@skein/simulator";
import { type AgentResult, createAgent } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { scripted, simulatedAgent } from "./simulated.ts";

const rows = (result: AgentResult, action: string) =>
  result.agentLogs.filter(({ actionType }) => actionType === action);

const FAULTS: readonly (readonly [string, Step, string])[] = [
  ["a rate limit (429)", { error: { status: 429, type: "rate_limit_error", times: 2 } }, "rate_limit_error"],
  ["an overload (529)", { error: { status: 529, type: "overloaded_error", times: 2 } }, "overloaded_error"],
  ["a server error (500)", { error: { status: 500, type: "api_error", times: 2 } }, "api_error"],
  ["a connection that is cut immediately", { cut: { afterBytes: 0, times: 2 } }, "connection_error"],
  ["a connection that is cut in the middle", { cut: { afterBytes: 400, times: 2 } }, ""],
  [
    "an error in mid-stream",
    { streamError: { afterChunks: 1, type: "overloaded_error", times: 2 } },
    "overloaded_error",
  ],
];

test.each(FAULTS)("after %s a model call is retried; each retry is recorded as a fact", async (name, fault, code) => {
  const { agent, simulator } = await simulatedAgent({ base_delay: 0.01 });
  const result = await agent.run(scripted(name, [{ ...fault, text: "At last, after all of that trouble ".repeat(9) }]));
  expect(result.error).toBeNull();
  expect(result.finalAnswer).toContain("At last");
  const retries = rows(result, "api_retry").map(({ actionData }) => actionData);
  expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2]);
  for (const retry of retries) expect((retry["error"] as { code: string }).code).toContain(code);
  expect(simulator.ledger.calls({ kind: "messages" })).toHaveLength(3);
  // Usage and cost are counted only for the call that was answered.
  expect(result.usage.output_tokens).toBe(simulator.ledger.totals().usage.output_tokens);
});

test("a silent model call is aborted after its time limit, and retried", async () => {
  const { agent } = await simulatedAgent({ base_delay: 0.01, silenceMs: 150 });
  const steps: Step[] = [{ hang: { afterChunks: 1, times: 1 }, text: "Words ".repeat(50) }];
  const result = await agent.run(scripted("Silence in the middle", steps));
  expect(result.error).toBeNull();
  expect(rows(result, "api_retry")[0]?.actionData["error"]).toMatchObject({ code: "silence" });
  const atOnce = await agent.run(scripted("Silence at once", [{ hang: { times: 1 }, text: "Now" }]));
  expect(atOnce).toMatchObject({ finalAnswer: "Now", error: null });
});

test("max_retries: the last failure ends the run, with a row for the error, and the session continues", async () => {
  const { agent, simulator } = await simulatedAgent({ max_retries: 2, base_delay: 0.01 });
  const failed = await agent.run(scripted("Always busy", [{ error: { status: 529, type: "overloaded_error" } }]));
  expect(failed).toMatchObject({ stopReason: "error", error: { code: "overloaded_error" } });
  expect(rows(failed, "api_retry")).toHaveLength(2);
  expect(rows(failed, "api_error")).toHaveLength(1);
  expect(rows(failed, "run_failed")).toHaveLength(1);
  expect(rows(failed, "error").length).toBeGreaterThan(0);
  expect(simulator.ledger.calls({ kind: "messages" })).toHaveLength(3);
  const next = await agent.run(scripted("And now", [{ text: "Fine" }]), { sessionId: failed.sessionId });
  expect(next).toMatchObject({ finalAnswer: "Fine", error: null });
});

test("without a server at its address a model call fails after two retries, even if max_retries is larger", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.close();
  const agent = createAgent({ baseUrl, base_delay: 0.01, max_retries: 5 });
  onTestFinished(() => agent.close());
  const result = await agent.run("Hello?");
  expect(result.error?.message).toContain(baseUrl);
  expect(rows(result, "api_retry")).toHaveLength(2);
});

test("a request that the API rejects is not retried", async () => {
  const { agent, simulator } = await simulatedAgent({ base_delay: 0.01 });
  const result = await agent.run(scripted("Refused", [{ error: { status: 400, type: "invalid_request_error" } }]));
  expect(result.stopReason).toBe("error");
  expect(simulator.ledger.calls({ kind: "messages" })).toHaveLength(1);
});

test("the delay begins with base_delay and doubles with each attempt, and retry-after is respected", async () => {
  const { agent } = await simulatedAgent({ base_delay: 0.05 });
  const doubled = await agent.run(scripted("Doubling", [{ error: { status: 500, times: 3 }, text: "Done" }]));
  const delays = rows(doubled, "api_retry").map(({ actionData }) => Number(actionData["delay_ms"]));
  for (const [index, delay] of delays.entries()) {
    expect(delay).toBeGreaterThanOrEqual(50 * 2 ** index);
    expect(delay).toBeLessThanOrEqual(50 * 2 ** index + 50);
  }
  const told = await agent.run(
    scripted("Told to wait", [{ error: { status: 429, retryAfter: 0.4, times: 1 }, text: "Done" }]),
  );
  expect(Number(rows(told, "api_retry")[0]?.actionData["delay_ms"])).toBeGreaterThanOrEqual(400);
});

test("a failed model call for a title is retried after a delay, and does not fail the run", async () => {
  const sent: number[] = [];
  const server = createServer((request, response) => {
    sent.push(Date.now());
    request.resume();
    if (sent.length > 1) {
      response.writeHead(529, { "content-type": "application/json" });
      response.end('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}');
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(answered("Hello"));
  });
  const agent = await agentAt(server, { generate_title: true, max_retries: 2, base_delay: 0.1 });
  const result = await agent.run("Hi");
  expect(result).toMatchObject({ finalAnswer: "Hello", error: null, stopReason: "end_turn" });
  expect(sent).toHaveLength(4);
  expect((sent[2] ?? 0) - (sent[1] ?? 0)).toBeGreaterThanOrEqual(99);
});

test.each([
  ["a web page", "<html>Bad gateway</html>"],
  ["broken JSON", "event: message_start\ndata: {not json\n\n"],
  ["an answer that breaks off", answered("Half").split("event: message_delta")[0] ?? ""],
  ["unknown events", 'event: surprise\ndata: {"type":"surprise"}\n\n'],
])("a model call with an invalid answer (%s) is retried, then fails with a clear error", async (_, garbage) => {
  let calls = 0;
  const server = createServer((request, response) => {
    calls += 1;
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(garbage);
  });
  const agent = await agentAt(server, { max_retries: 1, base_delay: 0.01 });
  const result = await agent.run("Hi");
  expect(result.stopReason).toBe("error");
  expect(result.error?.message).toMatch(/answer/);
  expect(calls).toBe(2);
});

test("after an answer without any content, the session can continue", async () => {
  const { agent } = await simulatedAgent();
  const empty = await agent.run(scripted("Say nothing", [{}]));
  expect(empty).toMatchObject({ finalAnswer: "", stopReason: "end_turn", error: null });
  const next = await agent.run(scripted("Say something", [{ text: "Something" }]), { sessionId: empty.sessionId });
  expect(next).toMatchObject({ finalAnswer: "Something", error: null });
});

async function agentAt(server: ReturnType<typeof createServer>, options: Parameters<typeof createAgent>[0]) {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const agent = createAgent({ apiKey: "test", baseUrl: `http://127.0.0.1:${port}`, ...options });
  onTestFinished(async () => {
    await agent.close();
    server.closeAllConnections();
    server.close();
  });
  return agent;
}

function answered(text: string): string {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const events = [
    { type: "message_start", message: { id: "m", type: "message", role: "assistant", model: "x", content: [], usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "message_stop" },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}
