import { type IncomingMessage, type RequestListener, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { JsonObject } from "@skein/protocol";
import { type AgentOptions, type RunOptions, createAgent, defineTool } from "skein";
import { expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as z3 } from "zod/v3";
import { createDatabase } from "../../../../scripts/postgres.ts";
import { scripted, simulatedAgent } from "./simulated.ts";
import { counting, eventsOf, expectUsable } from "./world.ts";

test.each([
  ["a text", "no schema", /not a JSON Schema/],
  ["null", null, /not a JSON Schema/],
  ["a list", [], /not a JSON Schema/],
  ["a schema of a string", { type: "string" }, /object/],
  ["a zod schema of a string", z.string(), /must be one object/],
  ["a zod union of objects", z.union([z.object({}), z.object({})]), /must be one object.*z\.object/],
  ["a schema of zod 3", z3.object({}), /zod 3\. Use zod 4/],
  ["an unknown type", { type: "object", properties: { a: { type: "strnig" } } }, /schema of the tool "odd"/i],
])("an invalid schema (%s) is rejected when the tool is created", (_, input, sentence) => {
  const make = () => defineTool({ name: "odd", description: "", input: input as JsonObject, run: () => 1 });
  expect(make).toThrow(expect.objectContaining({ code: "invalid", message: expect.stringMatching(sentence) }));
});

test("a zod mini schema works like any other", async () => {
  const input = mini.object({ city: mini.string() });
  const tool = defineTool({ name: "weather", description: "", input, run: ({ city }) => `sunny in ${city}` });
  expect(tool.inputSchema).toMatchObject({ type: "object", properties: { city: { type: "string" } } });
  const { agent } = await simulatedAgent({ tools: [tool] });
  const call = { name: "weather", input: { city: "Rome" } };
  const wrong = { name: "weather", input: { city: 5 } };
  const steps = [{ tools: [call] }, { text: "$LAST" }];
  expect((await agent.run(scripted("mini", steps))).finalAnswer).toBe("sunny in Rome");
  const { finalAnswer } = await agent.run(scripted("mini wrong", [{ tools: [wrong] }, { text: "$LAST" }]));
  expect(finalAnswer).toContain("does not fit");
});

test.each([
  ["an unknown option", { repeatable: true }, /no option "repeatable"\. It has name, .*policy/],
  ["a time limit of 0", { timeoutMs: 0 }, /timeoutMs/],
  ["a time limit that is not a number", { timeoutMs: Number.NaN }, /timeoutMs/],
  ["a run that is not a function", { run: "ls" }, /needs a run function/],
])("a tool with %s is rejected when it is created", (_, options, sentence) => {
  const make = () =>
    defineTool({ name: "odd", description: "", input: z.object({}), run: () => 1, ...(options as {}) });
  expect(make).toThrow(expect.objectContaining({ code: "invalid", message: expect.stringMatching(sentence) }));
});

test.each(["", "with space", "a/b", "ü", "x".repeat(129), "a\n"])("%j is not a valid tool name", (name) => {
  const make = () => defineTool({ name, description: "", input: z.object({}), run: () => 1 });
  expect(make).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("two tools of the same name are rejected when the agent is created", () => {
  const { tool } = counting();
  expect(() => createAgent({ tools: [tool, tool] })).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("two agents of the same name are rejected if one may call the other, but an agent may be listed twice", () => {
  const leaf = createAgent({ name: "Leaf" });
  const middle = createAgent({ name: "Middle", subagents: [leaf] });
  const namesake = createAgent({ name: "Leaf", system_prompt: "Another one." });
  const refused = expect.objectContaining({ code: "invalid", message: expect.stringContaining('"Leaf"') });
  expect(() => createAgent({ name: "Top", subagents: [namesake, middle] })).toThrow(refused);
  expect(() => createAgent({ name: "Leaf", subagents: [leaf] })).toThrow(refused);
  expect(() => createAgent({ name: "Top", subagents: [leaf, middle] })).not.toThrow();
});

const nothing = () => Promise.resolve({} as never);
const memory = {
  type: "mine",
  retrieve: nothing,
  update: nothing,
  beforeCompaction: nothing,
  afterCompaction: nothing,
};

test.each([
  ["a setting in camel case", { maxSteps: 3 }, /no option "maxSteps"\. It has tools, .*max_steps/],
  ["schemas of tools instead of tools", { tool_schemas: [] }, /no option "tool_schemas"/],
  ["a beta header with a line break", { beta_headers: ["a\r\nx: y"] }, /beta_headers\.0/],
  ["a delay of centuries", { base_delay: 1e300 }, /base_delay/],
  ["tools that are still a promise", { tools: Promise.resolve([]) }, /"tools" is a promise\. Write tools: await/],
  ["one tool instead of a list", { tools: { name: "x" } }, /"tools" must be a list/],
  ["a tool in the API's format", { tools: [{ name: "x", input_schema: {} }] }, /tools\[0\] is not a tool.*defineTool/],
  ["options as a subagent", { subagents: [{ name: "x" }] }, /subagents\[0\] is not an agent.*createAgent/],
  ["a check that is not a function", { validate: "json" }, /"validate" must be a function/],
  ["a number as its store", { store: 5 }, /"store" must be an address/],
  ["a store without its methods", { store: { append: () => {} } }, /"store" must be .*no method read, follow/],
  ["a store that is still a promise", { store: Promise.resolve() }, /"store" is a promise/],
  ["a memory without its methods", { memory: { type: "mine", retrieve: () => {} } }, /"memory" .*no method update, /],
  ["a memory without a name", { memory: { ...memory, type: "" } }, /"memory" needs a type/],
  [
    "a memory and the name of another memory",
    { memory, memory_store_type: "full_text" },
    /Leave memory_store_type out/,
  ],
  ["a file store without its methods", { files: { put: () => {} } }, /"files" must be .*no method get/],
])("an agent with %s is rejected when it is created", (_, options, sentence) => {
  const make = () => createAgent(options as AgentOptions);
  expect(make).toThrow(expect.objectContaining({ code: "invalid", message: expect.stringMatching(sentence) }));
});

test.each([
  ["an invalid address of the model", { baseUrl: "nonsense" }, "invalid", /http or https/],
  ["an address that is not a store", { store: "mysql://x" }, "invalid", /not a store/],
])("%s is reported at the first run", async (_, options, code, sentence) => {
  const agent = createAgent({ apiKey: "test", ...options });
  onTestFinished(() => agent.close());
  await expect(agent.run("Hello")).rejects.toMatchObject({ code, message: expect.stringMatching(sentence) });
});

test("a database that does not exist is reported, and used once it exists", async () => {
  const { url, template } = inject("postgres");
  const name = `late_${process.pid}_${Date.now()}`;
  const place = new URL(url);
  place.pathname = `/${name}`;
  const { agent } = await simulatedAgent({ store: place.href });
  await expect(agent.run("Hello")).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining("does not exist"),
  });
  const database = await createDatabase(url, { name, template });
  expect(await agent.run("How much is 2+2?")).toMatchObject({ error: null });
  await agent.close();
  await database.drop();
});

test("a run with an unknown option is rejected, and not started", async () => {
  const { agent } = await simulatedAgent();
  const { sessionId } = await agent.run("Hello.");
  const sessions = await agent.sessions();
  const before = await sessions.events(sessionId);
  const options = { session_id: sessionId } as RunOptions;
  await expect(agent.run("And now?", options)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining('"session_id"'),
  });
  expect(await sessions.events(sessionId)).toEqual(before);
  expect((await sessions.list()).items.map(({ id }) => id)).toEqual([sessionId]);
});

test("an invalid prompt is rejected with an error that says what was expected", async () => {
  const { agent } = await simulatedAgent();
  const message = expect.stringContaining("Expected text or a list of content blocks.");
  await expect(agent.run(5 as unknown as string)).rejects.toMatchObject({ code: "invalid", message });
});

test.each([
  ["no character", "", "invalid"],
  ["nothing but spaces", " \n\t", "invalid"],
  ["no block", [], "invalid"],
  ["the result of a tool", [{ type: "tool_result", tool_use_id: "toolu_1", content: "4" }], "invalid"],
  ["a call of a tool", [{ type: "tool_use", id: "toolu_1", name: "add", input: {} }], "invalid"],
  ["a thought", [{ type: "thinking", thinking: "Hm.", signature: "x" }], "invalid"],
  ["an empty text block", [{ type: "text", text: "" }], "invalid"],
  ["10 million characters", "x".repeat(10_000_000), "too_large"],
  ["10 million characters in a block", [{ type: "text", text: "x".repeat(10_000_000) }], "too_large"],
  ["an image that is not base64", [image("image/png", "not base64!")], "invalid"],
  ["an image that is text", [image("image/png", btoa("just text, no picture"))], "invalid"],
  ["an image whose data has another type than declared", [image("image/jpeg", pngDot())], "invalid"],
  ["an image of a type that no model reads", [image("image/tiff", "SUkqAA==")], "invalid"],
  ["an image from a file", [{ type: "image", source: { type: "url", url: "file:///etc/passwd" } }], "invalid"],
])("a prompt of %s is rejected, and the session stays usable", async (_, prompt, code) => {
  const { agent } = await simulatedAgent();
  const { sessionId } = await agent.run(scripted("hello", [{ text: "Hello." }]));
  await expect(agent.run(prompt, { sessionId })).rejects.toMatchObject({ code });
  await expect(agent.run(prompt)).rejects.toMatchObject({ code });
  await expectUsable(agent, sessionId);
  expect((await (await agent.sessions()).list()).items).toHaveLength(1);
});

test("a valid image is accepted in a prompt", async () => {
  const { agent } = await simulatedAgent();
  const blocks = [image("image/png", pngDot()), { type: "text", text: scripted("image", [{ text: "A dot." }]) }];
  expect(await agent.run(blocks)).toMatchObject({ finalAnswer: "A dot." });
});

test("a prompt that the API rejects is left out of later requests", async () => {
  const { agent, simulator } = await simulatedAgent();
  const { sessionId } = await agent.run(scripted("hello", [{ text: "Hello." }]));
  const bad = scripted("poisonous", [{ error: { status: 400, type: "invalid_request_error", message: "no image" } }]);
  expect(await agent.run(bad, { sessionId })).toMatchObject({ stopReason: "error", error: { message: "no image" } });
  await expectUsable(agent, sessionId);
  const last = JSON.stringify(simulator.ledger.calls().at(-1)?.request);
  expect(last).toContain("hello");
  expect(last).not.toContain("poisonous");
  // The message is still in the transcript.
  const transcript = await (await agent.sessions()).transcript(sessionId);
  expect(JSON.stringify(transcript)).toContain("poisonous");
});

test("a prompt that got no answer because of a server error stays in later requests", async () => {
  const { agent, simulator } = await simulatedAgent({ max_retries: 0 });
  const first = await agent.run(scripted("unlucky", [{ error: { status: 500, times: 1 } }]));
  expect(first.stopReason).toBe("error");
  await expectUsable(agent, first.sessionId);
  expect(JSON.stringify(simulator.ledger.calls().at(-1)?.request)).toContain("unlucky");
});

test("an empty answer of the model ends the run, and the session stays usable", async () => {
  const { agent } = await simulatedAgent();
  const result = await agent.run(scripted("silent", [{ blocks: [] }]));
  expect(result).toMatchObject({ stopReason: "end_turn", finalAnswer: "", error: null });
  await expectUsable(agent, result.sessionId);
});

const start = { type: "message_start", message: { model: "m", usage: { input_tokens: 1, output_tokens: 1 } } };
const stop = [{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: {} }, { type: "message_stop" }];
const block = (content_block: unknown, index: unknown = 0) => ({ type: "content_block_start", index, content_block });
const garbage: [string, RequestListener][] = [
  ["a page of HTML", (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Login</h1>")],
  ["nothing", (_, response) => response.writeHead(200, { "content-type": "text/event-stream" }).end()],
  ["bytes", (_, response) => response.writeHead(200, sse()).end(Buffer.from([0, 255, 254, 10, 10, 200, 10]))],
  [
    "events that are not JSON",
    (_, response) => response.writeHead(200, sse()).end("event: message_start\ndata: {oops\n\n"),
  ],
  ["JSON that is not an event", events([1, null, "x", [], {}])],
  ["a message without a start", events(stop)],
  ["an answer that does not end", events([start, block({ type: "text", text: "" })])],
  ["a block that is null", events([start, block(null), ...stop])],
  ["a block without a type", events([start, block({ text: "x" }), ...stop])],
  ["a call without an id", events([start, block({ type: "tool_use", name: "count", input: {} }), ...stop])],
  [
    "a call with an invalid id",
    events([start, block({ type: "tool_use", id: "a b", name: "count", input: {} }), ...stop]),
  ],
  ["a call without a name", events([start, block({ type: "tool_use", id: "a", name: "", input: {} }), ...stop])],
  [
    "a call whose input is a list",
    events([start, block({ type: "tool_use", id: "a", name: "count", input: [] }), ...stop]),
  ],
  [
    "a usage that is not a number",
    events([{ ...start, message: { model: "m", usage: { input_tokens: "many" } } }, ...stop]),
  ],
  [
    "a negative usage",
    events([{ ...start, message: { model: "m", usage: { input_tokens: -5, output_tokens: 1 } } }, ...stop]),
  ],
];

test("a block with a very high index in the stream is read like any other block", async () => {
  const { agent } = await answering(events([start, block({ type: "text", text: "x" }, 1e9), ...stop]));
  expect(await agent.run("Hello")).toMatchObject({ finalAnswer: "x" });
});

test.each(garbage)(
  "a model that streams %s fails with a clear error, and the session stays usable",
  async (_, answer) => {
    const { agent, calls, mend } = await answering(answer);
    const result = await agent.run("Hello");
    expect(result).toMatchObject({ stopReason: "error", error: { message: expect.stringMatching(/[A-Z].*\.?$/s) } });
    expect(await eventsOf(agent, result.sessionId, "step.retried")).toHaveLength(1);
    expect(calls).toEqual([]);
    const [run] = (await (await agent.sessions()).runs(result.sessionId)).items;
    expect(run?.usage).toEqual(expect.objectContaining({ input_tokens: expect.any(Number) }));
    mend();
    await expectUsable(agent, result.sessionId);
  },
);

/** Creates an agent whose model always gives this answer, until the test calls `mend`. */
async function answering(answer: RequestListener) {
  const { simulator } = await simulatedAgent();
  let broken = true;
  const proxy = createServer((request, response) => {
    if (broken) answer(request, response);
    else void passOn(simulator.url, request, response);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => proxy.once("listening", resolve));
  const baseUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const { tool, calls } = counting();
  const agent = createAgent({ apiKey: "test", baseUrl, tools: [tool], max_retries: 1, base_delay: 0.01 });
  onTestFinished(async () => {
    await agent.close();
    proxy.close();
    proxy.closeAllConnections();
  });
  return { agent, calls, mend: () => void (broken = false) };
}

async function passOn(url: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers = { "x-api-key": "test", "anthropic-version": "2023-06-01", "content-type": "application/json" };
  const answered = await fetch(`${url}${request.url}`, { method: "POST", headers, body: await text(request) });
  response.writeHead(answered.status, sse()).end(await answered.text());
}

function sse() {
  return { "content-type": "text/event-stream" };
}

function events(list: readonly unknown[]): RequestListener {
  const frames = list.map((event) => {
    const type = (event as { type?: string } | null)?.type ?? "message_start";
    return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  });
  return (_, response) => void response.writeHead(200, sse()).end(frames.join(""));
}

function image(media_type: string, data: string) {
  return { type: "image", source: { type: "base64", media_type, data } };
}

function pngDot(): string {
  return "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
}

test("a model's answer with the same tool call twice fails with a clear error, and no tool runs", async () => {
  const { tool, calls } = counting();
  const { agent } = await simulatedAgent({ tools: [tool], max_retries: 0 });
  const twice = { name: "count", id: "toolu_same" };
  const result = await agent.run(scripted("twice", [{ tools: [twice, twice] }, { text: "Done." }]));
  expect(result.error).toMatchObject({ code: "stream_broken", message: expect.stringContaining("toolu_same") });
  expect(calls).toEqual([]);
  await expectUsable(agent, result.sessionId);
});

test("a model's answer that repeats an earlier tool call fails with a clear error, and the tool does not run again", async () => {
  const { tool, calls } = counting();
  const { agent } = await simulatedAgent({ tools: [tool], max_retries: 0 });
  const again = { name: "count", id: "toolu_again" };
  const result = await agent.run(scripted("again", [{ tools: [again] }, { tools: [again] }, { text: "Done." }]));
  expect(result.error).toMatchObject({ code: "stream_broken", message: expect.stringContaining("toolu_again") });
  expect(calls).toHaveLength(1);
  await expectUsable(agent, result.sessionId);
});
