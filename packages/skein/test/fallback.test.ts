/** Fallback models of agents, with real servers and real failures. */
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Store, createMemoryStore, createModels } from "@skein/core";
import type { Event } from "@skein/protocol";
import { createAgent } from "skein";
import { expect, onTestFinished, test } from "vitest";

type Answering = (response: ServerResponse, request: number) => void;

const answers: Answering = (response) =>
  void sse(response, [words("Served."), DONE, counts(10, 2)]).end("data: [DONE]\n\n");
const rejects =
  (status: number, error: object = { message: "No." }): Answering =>
  (response) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error }));
const breaksOff: Answering = (response) => {
  sse(response, [counts(10, 3), words("Half of ")]);
  setTimeout(() => response.destroy(), 20);
};
const hangs: Answering = (response) => void sse(response, [words("Slowly")]);

const words = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const counts = (prompt_tokens: number, completion_tokens: number) => ({
  choices: [],
  usage: { prompt_tokens, completion_tokens },
});
const DONE = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };

function sse(response: ServerResponse, chunks: readonly object[]): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of chunks) response.write(`data: ${JSON.stringify({ id: "1", model: "m", ...chunk })}\n\n`);
  return response;
}

/** Creates a store with a model for each name, and counts the requests to each model. */
async function models(
  behaviours: Readonly<Record<string, Answering>>,
): Promise<{ store: Store; asked: Record<string, number> }> {
  const store = createMemoryStore();
  const asked: Record<string, number> = {};
  for (const [name, behaves] of Object.entries(behaviours)) {
    asked[name] = 0;
    const server = createServer((request, response) => {
      asked[name] = (asked[name] ?? 0) + 1;
      request.resume().once("end", () => behaves(response, asked[name] ?? 0));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => server.close().closeAllConnections());
    await createModels({ records: store.records }).add({
      name: `openai-compatible/${name}`,
      settings: {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
        price: { input: name === "first" ? 1000 : 10, output: name === "first" ? 1000 : 10, date: "2026-11-01" },
      },
    });
  }
  return { store, asked };
}

const LIST = {
  model: "openai-compatible/first",
  fallback_models: ["openai-compatible/second", "openai-compatible/third"],
};

async function run(store: Store, options: { readonly sessionId?: string; readonly max_retries?: number } = {}) {
  const { sessionId, max_retries = 1 } = options;
  const agent = createAgent({ store, ...LIST, max_retries, base_delay: 0.01, silenceMs: 5000 });
  const events: Event[] = [];
  try {
    const result = await agent.run("Hi", {
      onEvent: (event) => void events.push(event),
      ...(sessionId !== undefined && { sessionId }),
    });
    const changes = events.flatMap((event) =>
      event.event_type === "step.retried" && event.data.model !== undefined
        ? [[event.data.error.code, event.data.model]]
        : [],
    );
    return { result, events, changes };
  } finally {
    await agent.close();
  }
}

test("an overloaded model is retried, then the next model in the list is called, and the log records the change", async () => {
  const { store, asked } = await models({ first: rejects(503), second: answers, third: answers });
  const { result, changes } = await run(store, { max_retries: 2 });
  expect(result).toMatchObject({ finalAnswer: "Served.", error: null });
  expect(asked).toEqual({ first: 3, second: 1, third: 0 });
  expect(changes).toEqual([["overloaded_error", "openai-compatible/second"]]);
  // 10 input tokens and 2 output tokens at $10 per million.
  expect(result.cost).toMatchObject({ model_id: "openai-compatible/second", total_cost: 0.00012 });
});

test.each([
  ["a wrong key", rejects(401), "authentication_error"],
  ["a closed account", rejects(402), "billing_error"],
  ["a model that no longer exists", rejects(404), "not_found_error"],
])("%s is not retried: the next model in the list is called immediately", async (_, first, code) => {
  const { store, asked } = await models({ first, second: answers, third: answers });
  const { result, changes } = await run(store);
  expect(result.finalAnswer).toBe("Served.");
  expect(asked).toEqual({ first: 1, second: 1, third: 0 });
  expect(changes).toEqual([[code, "openai-compatible/second"]]);
});

test("if a provider asks for a wait of hours, the next model in the list is called, or the run fails with an error about the wait", async () => {
  const spent: Answering = (response) =>
    void response.writeHead(429, { "retry-after": "7200" }).end('{"error":{"message":"Quota used up."}}');
  const { store, asked } = await models({ first: spent, second: answers, third: answers });
  const { result, changes } = await run(store);
  expect(result.finalAnswer).toBe("Served.");
  expect(changes).toEqual([["rate_limit_error", "openai-compatible/second"]]);
  expect(asked).toEqual({ first: 1, second: 1, third: 0 });
  const all = await models({ first: spent, second: spent, third: spent });
  expect((await run(all.store)).result.error?.message).toBe(
    "Quota used up. The provider asks to wait 120 minutes before the next call.",
  );
});

test("a request that every model would reject fails the run, and no other model is called", async () => {
  const { store, asked } = await models({ first: rejects(400), second: answers, third: answers });
  const { result } = await run(store);
  expect(result.error).toMatchObject({ code: "invalid_request_error" });
  expect(asked).toEqual({ first: 1, second: 0, third: 0 });
});

test("if all models in the list fail, the run fails with the last reason, and the next run starts with the first model", async () => {
  let isUp = false;
  const first: Answering = (response, request) => (isUp ? answers : rejects(503))(response, request);
  const { store, asked } = await models({ first, second: rejects(401), third: rejects(500) });
  const { result, changes } = await run(store);
  expect(result.error).toMatchObject({ code: "api_error" });
  expect(changes.map(([, model]) => model)).toEqual(LIST.fallback_models);
  expect(asked).toEqual({ first: 2, second: 1, third: 2 });
  isUp = true;
  const next = await run(store, { sessionId: result.sessionId });
  expect(next).toMatchObject({ result: { finalAnswer: "Served.", error: null }, changes: [] });
  expect(asked).toEqual({ first: 3, second: 1, third: 2 });
});

test("the cost of an interrupted answer counts for the first model, and the cost of the next answer for the fallback model", async () => {
  const { store } = await models({ first: breaksOff, second: answers, third: answers });
  const { result, events } = await run(store, { max_retries: 0 });
  expect(result.finalAnswer).toBe("Served.");
  const [retried] = events.filter((event) => event.event_type === "step.retried");
  expect(retried?.data).toMatchObject({
    model: "openai-compatible/second",
    lost: { model: "openai-compatible/first", cost: { model: "openai-compatible/first" } },
  });
  const [answered] = events.filter((event) => event.event_type === "step.generated");
  expect(answered?.data).toMatchObject({
    model: "openai-compatible/second",
    usage: { input_tokens: 10, output_tokens: 2 },
  });
});

test("if an agent is closed while the fallback model answers, another agent continues the run and calls only the fallback model", async () => {
  let isUp = false;
  const second: Answering = (response, request) => (isUp ? answers : hangs)(response, request);
  const { store, asked } = await models({ first: rejects(401), second, third: answers });
  const one = createAgent({ store, ...LIST });
  let sessionId = "";
  const ended = one.run("Hi", { onEvent: (event) => void (sessionId = event.session_id) }).catch(() => undefined);
  await expect.poll(() => asked["second"]).toBe(1);
  await one.close();
  await ended;
  isUp = true;
  const other = createAgent({ store, ...LIST });
  onTestFinished(() => other.close());
  expect(await other.resume(sessionId)).toMatchObject({ finalAnswer: "Served.", error: null });
  expect(asked).toEqual({ first: 1, second: 2, third: 0 });
});

test.each([
  [{ fallback_models: ["openai-compatible/a", "openai-compatible/a"] }, /twice/],
  [{ fallback_models: [""] }, /fallback_models/],
  [{ fallback_models: ["x"], runtime: "claude-code" as const }, /fallback_model of the Claude API/],
])("a fallback list that is invalid is rejected: %j", (options, sentence) => {
  expect(() => createAgent({ store: createMemoryStore(), ...options })).toThrow(sentence);
});
