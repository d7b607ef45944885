/**
 * Faults of models and model servers, with every adapter. A fault gives a clear error or a result for the model. The
 * session continues after the fault.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createMemoryStore, createModels, defineTool } from "@skein/core";
import type { Event, ModelSettings } from "@skein/protocol";
import { type Simulator, type Step, createSimulator, script } from "@skein/simulator";
import { type ServerResponse, createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type AgentOptions, createAgent, createServer } from "skein";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";

let simulator: Simulator;
beforeAll(async () => {
  simulator = await createSimulator();
});
afterAll(() => simulator.close());
afterEach(() => vi.unstubAllEnvs());

const CLAUDES = ["claude-sonnet-5-5", "bedrock/anthropic.claude-sonnet-5-5", "vertex/claude-sonnet-5-5"] as const;
const OTHERS = ["openai/gpt-6", "openai-compatible/llama", "ai/llama"] as const;
const NAMES = [...CLAUDES, ...OTHERS];
const eachModel = test.each(NAMES);

const add = defineTool({
  name: "add",
  description: "Adds.",
  input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  policy: "repeatable",
  run: ({ a, b }) => Number(a) + Number(b),
});

let labels = 0;
/** Creates an agent with a model on the server at this address. */
async function agentOf(model: string, url = simulator.url, more: AgentOptions & { settings?: ModelSettings } = {}) {
  const { settings = {}, ...options } = more;
  const store = createMemoryStore();
  vi.stubEnv("OPENAI_API_KEY", "simulated");
  const models = createModels({ records: store.records });
  const own = { url: `${url}/v1`, key_env: "OPENAI_API_KEY", ...settings };
  for (const name of ["openai/gpt-6", "openai-compatible/llama"]) await models.add({ name, settings: own });
  const [, bedrock, vertex] = CLAUDES;
  await models.add({ name: bedrock, settings: { ...own, url, region: "eu-west-1" } });
  await models.add({ name: vertex, settings: { ...own, region: "global", project: "p-1" } });
  const ai = createOpenAICompatible({ name: "ai", baseURL: `${url}/v1`, apiKey: "k", includeUsage: true })("llama");
  const agent = createAgent({
    name: "Agent",
    model,
    store,
    tools: [add],
    base_delay: 0.001,
    baseUrl: url,
    apiKey: "simulated",
    models: { "ai/llama": { model: ai, abilities: settings.abilities } },
    ...options,
  });
  onTestFinished(() => agent.close());
  const label = `bad ${++labels}`;
  return {
    run: async (steps: readonly Step[], sessionId?: string) => {
      const events: Event[] = [];
      const onEvent = (event: Event): void => void events.push(event);
      const result = await agent.run(script(steps, label), { onEvent, ...(sessionId !== undefined && { sessionId }) });
      return { ...result, events };
    },
    asked: () => simulator.ledger.calls({ label }),
  };
}

/** Starts a server that is not a model server. */
async function otherServer(answer: (response: ServerResponse) => void): Promise<{ url: string; asked: () => number }> {
  let asked = 0;
  const server = createHttpServer((request, response) => {
    asked += 1;
    request.resume().once("end", () => answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

eachModel("%s with a wrong key is called once, and the error has the provider's message", async (model) => {
  const { run, asked } = await agentOf(model);
  const { error } = await run([{ error: { status: 401, type: "authentication_error", message: "Wrong API key." } }]);
  expect(error).toMatchObject({ code: "authentication_error", message: "Wrong API key.", status: 401 });
  expect(asked()).toHaveLength(1);
});

eachModel(
  "%s at an address with a web page: the error says to check the address, after two calls at most",
  async (model) => {
    const page = await otherServer((response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<html><body>Welcome</body></html>"),
    );
    const { run } = await agentOf(model, page.url);
    const { error } = await run([{ text: "Never." }]);
    expect(error).toMatchObject({
      code: "no_model",
      message: expect.stringContaining("Check the address of the model"),
    });
    expect(page.asked()).toBeLessThanOrEqual(2);
  },
);

eachModel("%s at an address that answers 404 is called once, and the error has the status", async (model) => {
  const nothing = await otherServer((response) => response.writeHead(404).end("Not here"));
  const { run } = await agentOf(model, nothing.url);
  const { error } = await run([{ text: "Never." }]);
  expect(error).toMatchObject({ status: 404 });
  expect(nothing.asked()).toBe(1);
});

test.each(NAMES.filter((name) => name !== "ai/llama"))(
  "if the body of an error response of %s never ends, the connection is closed before 20 MB are sent",
  async (model) => {
    let sent = 0;
    const closed = Promise.withResolvers<void>();
    const endless = await otherServer((response) => {
      response.writeHead(400, { "content-type": "text/plain" });
      const piece = "x".repeat(100_000);
      const write = (): void => {
        while (!response.destroyed && response.write(piece)) sent += piece.length;
      };
      response.on("drain", write).on("close", closed.resolve);
      write();
    });
    const { run } = await agentOf(model, endless.url);
    const { error } = await run([{ text: "Never." }]);
    expect(error).toMatchObject({ status: 400 });
    await closed.promise;
    expect(sent).toBeLessThan(20_000_000);
  },
);

test.each([CLAUDES[0], "openai/gpt-6", "openai-compatible/llama"] as const)(
  "if a line of %s never ends, the stream is ended at 32 million characters",
  async (model) => {
    const endless = await otherServer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: ");
      const piece = "x".repeat(2_000_000);
      const write = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on("drain", write);
      write();
    });
    const { run } = await agentOf(model, endless.url);
    const { error } = await run([{ text: "Never." }]);
    expect(error).toMatchObject({ code: "stream_broken", message: expect.stringContaining("32 million characters") });
  },
);

test.each(NAMES.slice(1))(
  "if %s cannot use tools and the agent has tools, the model is not called, and the error gives the reason",
  async (model) => {
    const { run, asked } = await agentOf(model, simulator.url, { settings: { abilities: { tools: false } } });
    const { error } = await run([{ text: "Never." }]);
    expect(error).toMatchObject({
      code: "no_tools",
      message: expect.stringContaining("cannot use tools, and the agent has 1"),
    });
    expect(asked()).toHaveLength(0);
  },
);

/** The beginning of an endless tool call and the next part of its arguments, in the stream format of each API. */
const MESSAGES = [
  { type: "message_start", message: { model: "m", usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t1", name: "add", input: {} } },
  (json: string) => ({
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json: json },
  }),
] as const;
const CHAT = [
  {
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "t1", function: { name: "add", arguments: "" } }] } }],
  },
  { choices: [] },
  (json: string) => ({
    choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: json } }] } }],
  }),
] as const;
const ENDLESS = {
  "claude-sonnet-5-5": MESSAGES,
  "bedrock/anthropic.claude-sonnet-5-5": MESSAGES,
  "vertex/claude-sonnet-5-5": MESSAGES,
  "openai/gpt-6": [
    { type: "response.created", response: {} },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "function_call", call_id: "t1", name: "add" },
    },
    (json: string) => ({ type: "response.function_call_arguments.delta", output_index: 0, delta: json }),
  ],
  "openai-compatible/llama": CHAT,
  "ai/llama": CHAT,
} as const;

test.each(NAMES)(
  "if the JSON of a tool call of %s never ends, the stream is ended at 32 million characters, and not requested again",
  async (model) => {
    const [first, second, more] = ENDLESS[model];
    const event = (data: object): string =>
      `${"type" in data ? `event: ${String(data.type)}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
    const piece = event(more("9".repeat(2_000_000)));
    const endless = await otherServer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event(first) + event(second) + event(more('{"a": 1')));
      const write = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on("drain", write);
      write();
    });
    const { run } = await agentOf(model, endless.url);
    const { error } = await run([{ text: "Never." }]);
    expect(error).toMatchObject({
      code: "stream_broken",
      message: expect.stringContaining("more than 32 million characters"),
    });
    expect(endless.asked()).toBe(1);
  },
);

eachModel("%s calls an unknown tool: the model reads an error, and the run continues", async (model) => {
  const { run, asked } = await agentOf(model);
  const { finalAnswer, error } = await run([{ tools: [{ name: "fly", input: {} }] }, { text: "Then not." }]);
  expect({ finalAnswer, error }).toEqual({ finalAnswer: "Then not.", error: null });
  expect(JSON.stringify(asked().at(-1)?.request)).toContain(String.raw`There is no tool named \"fly\"`);
});

eachModel("%s sends arguments that are cut: the tool does not run, and the model reads why", async (model) => {
  const { run, asked } = await agentOf(model);
  const cut = { name: "add", input: { $raw: '{"a": 1, "b"' } };
  const { finalAnswer } = await run([{ tools: [cut] }, { text: "Again, then." }]);
  expect(finalAnswer).toBe("Again, then.");
  expect(JSON.stringify(asked().at(-1)?.request)).toContain("does not fit the tool's schema");
});

eachModel("%s gives empty answers: the run ends, is paid once, and the session continues", async (model) => {
  const { run, asked } = await agentOf(model);
  const first = await run([{ text: "" }]);
  expect({ finalAnswer: first.finalAnswer, error: first.error }).toEqual({ finalAnswer: "", error: null });
  const second = await run([{ text: "Back." }], first.sessionId);
  expect({ finalAnswer: second.finalAnswer, error: second.error }).toEqual({ finalAnswer: "Back.", error: null });
  expect(asked().map(({ outcome }) => outcome)).toEqual(["answered", "answered"]);
});

test.each(OTHERS)(
  "if %s changes the ids of tool calls at the end of the stream, each call runs once and has its result",
  async (model) => {
    const { run, asked } = await agentOf(model);
    const tools = [
      { name: "add", input: { a: 1, b: 2 } },
      { name: "add", input: { a: 30, b: 4 } },
    ];
    const first = await run([{ tools, quirks: { changingIds: true } }, { text: "Sum: $LAST" }]);
    expect({ finalAnswer: first.finalAnswer, error: first.error }).toEqual({ finalAnswer: "Sum: 34", error: null });
    expect(first.events.filter(({ event_type }) => event_type === "tool.started")).toHaveLength(2);
    expect((await run([{ text: "Fine." }], first.sessionId)).finalAnswer).toBe("Fine.");
    expect(asked().map(({ outcome }) => outcome)).toEqual(["answered", "answered", "answered"]);
  },
);

test.each(OTHERS)(
  "if %s repeats the id of a tool call in every answer, each call runs once, and each answer is paid once",
  async (model) => {
    const { run, asked } = await agentOf(model);
    const again = (a: number): Step => ({ tools: [{ name: "add", id: "call_0", input: { a, b: 1 } }] });
    const { finalAnswer, error } = await run([again(1), again(2), { text: "Last: $LAST" }]);
    expect({ finalAnswer, error }).toEqual({ finalAnswer: "Last: 3", error: null });
    expect(asked().map(({ outcome }) => outcome)).toEqual(["answered", "answered", "answered"]);
  },
);

test.each([CLAUDES[0], "openai/gpt-6", "openai-compatible/llama"])(
  "if the address of %s answers without a stream, it is called once, and the error gives the reason",
  async (model) => {
    const other = await otherServer((response) =>
      response.writeHead(200, { "content-type": "application/json" }).end('{"answer": "Hello."}'),
    );
    const { run } = await agentOf(model, other.url);
    const { error } = await run([{ text: "Never." }]);
    expect(error?.message).toContain("one JSON document instead of a stream");
    expect(other.asked()).toBe(1);
  },
);

test("if a tool call has no name, the answer is requested only once more, because each answer costs money", async () => {
  const unnamed = {
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: "a", function: { arguments: "{}" } }] },
        finish_reason: "tool_calls",
      },
    ],
  };
  const other = await otherServer((response) =>
    response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${JSON.stringify(unnamed)}\n\n`),
  );
  const { run } = await agentOf("openai-compatible/llama", other.url);
  const { error } = await run([{ text: "Never." }]);
  expect(error?.message).toContain("A tool call in it has no name");
  expect(other.asked()).toBe(2);
});

test("createServer accepts an AI SDK model that the calling program made", async () => {
  const model = createOpenAICompatible({ name: "ai", baseURL: `${simulator.url}/v1`, apiKey: "k" })("llama");
  const server = await createServer({ port: 0, store: "memory:", models: { "ai/llama": model } });
  onTestFinished(() => server.close());
  const headers = { authorization: `Bearer ${server.key.key}`, "content-type": "application/json" };
  const call = async (method: string, path: string, body?: object) =>
    (await (
      await fetch(`${server.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    ).json()) as Record<string, unknown>;
  const agent = await call("POST", "/v1/agents", { name: "A", model: "ai/llama" });
  const session = await call("POST", "/v1/sessions", { agent_id: agent["id"] });
  const content = { text: script([{ text: "Hello from llama." }]) };
  await call("POST", `/v1/sessions/${String(session["id"])}/messages`, { role: "user", content });
  const runs = async () => (await call("GET", `/v1/sessions/${String(session["id"])}/runs`))["data"];
  await expect.poll(runs).toMatchObject([{ final_response: "Hello from llama." }]);
});
