import { describe, expect, test } from "vitest";
import { HEADERS, rig } from "./client.ts";

const hello = { role: "user", content: "hello" };
const base = { model: "m", max_tokens: 100, messages: [hello] };
const use = (...ids: string[]) => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "tool_use", id, name: "t", input: {} })),
});
const result = (...ids: string[]) => ({
  role: "user",
  content: ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: "done" })),
});
const says = (text: string) => ({ role: "user", content: [{ type: "text", text }] });
const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } };
const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };
const tool = (name: string) => ({ name, input_schema: { type: "object" } });
const marked = { type: "text", text: "x", cache_control: { type: "ephemeral" } };

async function send(
  body: unknown,
  version = "2023-06-01",
): Promise<{ status: number; type: string | undefined; message: string | undefined }> {
  const { simulator } = await rig();
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${simulator.url}/v1/messages`, {
    method: "POST",
    headers: { ...HEADERS, "anthropic-version": version },
    body: text,
  });
  const answer = (await response.json()) as { error?: { type: string; message: string }; request_id?: string };
  if (answer.error) expect(answer.request_id).toBe(response.headers.get("request-id"));
  return { status: response.status, type: answer.error?.type, message: answer.error?.message };
}

describe("a transcript is refused", () => {
  const missing = (index: number, ids: string): string =>
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
  const unexpected = (where: string, id: string): string =>
    `${where}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;

  test.each([
    ["when a call has no result at the end", [hello, use("a")], missing(1, "a")],
    [
      "when a call has no result in the middle",
      [hello, use("a"), says("go on"), use("b"), result("b")],
      missing(1, "a"),
    ],
    ["when one of two calls has no result", [hello, use("a", "b"), result("b")], missing(1, "a")],
    ["when two calls have no result", [hello, use("a", "b"), says("go on")], missing(1, "a, b")],
    [
      "when a result comes one turn too late",
      [hello, use("a"), says("wait"), use("b"), result("a", "b")],
      missing(1, "a"),
    ],
    ["when text comes before the result", [hello, use("a"), says("wait"), result("a")], missing(1, "a")],
    ["when a result has no call", [hello, use("a"), result("a", "x")], unexpected("messages.2.content.1", "x")],
    ["when a conversation begins with a result", [result("x")], unexpected("messages.0.content.0", "x")],
    [
      "when a call has two results",
      [hello, use("a"), result("a", "a")],
      "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a",
    ],
    [
      "when two calls share an id",
      [hello, use("a"), result("a"), use("a"), result("a")],
      "messages: `tool_use` ids must be unique",
    ],
    [
      "when a server tool's result has no use",
      [hello, { role: "assistant", content: [found] }, hello],
      "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
    ],
    [
      "when a server tool's use has no result",
      [hello, { role: "assistant", content: [search] }, hello],
      "messages.1: `web_search` tool use with id `srvtoolu_1` was found without a corresponding `web_search_tool_result` block",
    ],
    [
      "when it begins with the assistant",
      [{ role: "assistant", content: "hi" }],
      'messages: first message must use the "user" role',
    ],
    [
      "when a message is empty",
      [hello, { role: "assistant", content: [] }, hello],
      "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ],
    ["when a text is empty", [says("")], "messages: text content blocks must be non-empty"],
    [
      "when it ends in a space",
      [hello, { role: "assistant", content: "so " }],
      "messages: final assistant content cannot end with trailing whitespace",
    ],
    [
      "when a role is unknown",
      [{ role: "robot", content: "hi" }],
      "messages.0.role: Input should be 'user' or 'assistant'",
    ],
  ])("a transcript is refused %s", async (_, messages, message) => {
    expect(await send({ ...base, messages })).toEqual({ status: 400, type: "invalid_request_error", message });
  });
});

test.each([
  ["whose calls are all answered", [hello, use("a", "b"), result("b", "a")]],
  ["with results in two messages of one turn", [hello, use("a", "b"), result("a"), result("b"), says("go on")]],
  [
    "with text after the results",
    [hello, use("a"), { role: "user", content: [...result("a").content, ...says("so?").content] }],
  ],
  ["with a system entry between call and result", [hello, use("a"), { role: "system", content: "note" }, result("a")]],
  ["that was paused in a server tool", [hello, { role: "assistant", content: [search] }]],
  [
    "that continued after a pause",
    [hello, { role: "assistant", content: [search] }, { role: "assistant", content: [found] }, hello],
  ],
  [
    "whose server tool waits for a client's tool",
    [hello, { role: "assistant", content: [search, ...use("a").content] }, result("a")],
  ],
  ["that ends with the assistant's first words", [hello, { role: "assistant", content: "The answer is" }]],
])("a transcript %s is accepted", async (_, messages) => {
  expect(await send({ ...base, messages })).toEqual({ status: 200 });
});

test("thinking that was changed after it was signed is rejected", async () => {
  const { client } = await rig();
  const thought = await client.messages.create({
    ...base,
    messages: [{ role: "user", content: "hi" }],
    max_tokens: 2000,
    thinking: { type: "enabled", budget_tokens: 1024 },
  });
  const [block, ...rest] = thought.content;
  const again = (content: unknown) => send({ ...base, messages: [hello, { role: "assistant", content }, hello] });
  expect(await again(thought.content)).toMatchObject({ status: 200 });
  expect(await again([{ ...block, thinking: "other" }, ...rest])).toMatchObject({
    status: 400,
    message: "messages.1.content.0: Invalid `signature` in `thinking` block",
  });
});

describe("a body is refused", () => {
  test.each([
    ["that is not JSON", "{", "The request body is not valid JSON"],
    ["that is a list", [], "Request body must be a JSON object"],
    ["without max_tokens", { ...base, max_tokens: undefined }, "max_tokens: Field required"],
    ["with max_tokens 0", { ...base, max_tokens: 0 }, "max_tokens: Input should be greater than or equal to 1"],
    ["without a model", { ...base, model: undefined }, "model: Field required"],
    ["without messages", { ...base, messages: undefined }, "messages: Field required"],
    ["with no message", { ...base, messages: [] }, "messages: at least one message is required"],
    [
      "with a tool that has an odd name",
      { ...base, tools: [tool("a b")] },
      "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ],
    [
      "with a tool that has no schema",
      { ...base, tools: [{ name: "a" }] },
      "tools.0.custom.input_schema: Field required",
    ],
    [
      "with a schema that is not an object",
      { ...base, tools: [{ name: "a", input_schema: { type: "string" } }] },
      "tools.0.custom.input_schema.type: Input should be 'object'",
    ],
    ["with two tools of one name", { ...base, tools: [tool("a"), tool("a")] }, "tools: Tool names must be unique."],
    [
      "that forces an unknown tool",
      { ...base, tools: [tool("a")], tool_choice: { type: "tool", name: "b" } },
      "Tool 'b' not found in provided tools",
    ],
    [
      "that forces a tool without tools",
      { ...base, tool_choice: { type: "any" } },
      "tool_choice: tool_choice may only be specified while providing tools",
    ],
    [
      "with a thinking budget that is too small",
      { ...base, thinking: { type: "enabled", budget_tokens: 1023 } },
      "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ],
    [
      "with a thinking budget as large as max_tokens",
      { ...base, max_tokens: 1024, thinking: { type: "enabled", budget_tokens: 1024 } },
      "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ],
    [
      "that thinks and forces a tool",
      { ...base, tools: [tool("a")], tool_choice: { type: "any" }, thinking: { type: "adaptive" } },
      "Thinking may not be enabled when tool_choice forces tool use.",
    ],
    [
      "with five cache breakpoints",
      { ...base, system: [marked, marked, marked], messages: [{ role: "user", content: [marked, marked] }] },
      "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ],
    [
      "with an invalid script",
      { ...base, messages: [{ role: "user", content: "[[script:abcd]]" }] },
      "script: expected base64 of JSON",
    ],
    [
      "with an empty script",
      { ...base, messages: [{ role: "user", content: "[[script:W10=]]" }] },
      "script: expected a non-empty list of steps",
    ],
  ])("a body is refused %s", async (_, body, message) => {
    expect(await send(body)).toEqual({ status: 400, type: "invalid_request_error", message });
  });
});

describe("the API's version decides", () => {
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const document = { type: "document", source: { type: "text", media_type: "text/plain", data: "x" } };
  const cited = { type: "text", text: "x", citations: [{ type: "char_location" }] };
  test.each([
    ["whether temperature is accepted", { ...base, temperature: 0.5 }, "temperature: Extra inputs are not permitted"],
    [
      "whether the assistant may send documents",
      { ...base, messages: [hello, { role: "assistant", content: [document] }, hello] },
      "messages.1.content.0: `document` blocks are not permitted in `assistant` messages",
    ],
    [
      "whether the user may cite",
      { ...base, messages: [{ role: "user", content: [cited] }] },
      "messages.0.content.0.text.citations: citations are not permitted in `user` messages",
    ],
  ])("the API's version decides %s", async (_, body, message) => {
    expect(await send(body, "2023-06-01")).toEqual({ status: 200 });
    expect(await send(body, "2026-10-21")).toMatchObject({ status: 400, message });
  });

  test.each([
    ["temperature and top_p", { temperature: 0.5, top_p: 0.9 }, /cannot both be specified/],
    ["thinking and a temperature", { thinking, temperature: 0.5 }, /only be set to 1/],
    ["thinking and top_k", { thinking, top_k: 5 }, /must be unset/],
    ["thinking and a small top_p", { thinking, top_p: 0.5 }, /greater than or equal to 0.95/],
  ])("%s are rejected in one request", async (_, settings, message) => {
    expect(await send({ ...base, max_tokens: 4096, model: "claude-sonnet-4-5", ...settings })).toMatchObject({
      status: 400,
      message: expect.stringMatching(message),
    });
  });

  test("models before Opus 4.1 accept temperature and top_p together", async () => {
    const old = { ...base, model: "claude-3-5-haiku-latest", temperature: 0.5, top_p: 0.9 };
    expect(await send(old)).toEqual({ status: 200 });
  });

  test("a temperature out of range is rejected", async () => {
    expect(await send({ ...base, temperature: 2 })).toMatchObject({ status: 400, message: "temperature: range: 0..1" });
  });
});

describe("before any body is read", () => {
  test.each([
    [
      "a request without a key is answered with 401",
      "/v1/messages",
      { "anthropic-version": "2023-06-01" },
      { status: 401, type: "authentication_error" },
    ],
    [
      "a request without the API's version is answered with 400",
      "/v1/messages",
      { "x-api-key": "k" },
      { status: 400, type: "invalid_request_error" },
    ],
    ["an unknown route is answered with 404", "/v1/unknown", HEADERS, { status: 404, type: "not_found_error" }],
    [
      "a known route with the wrong method is answered with 405",
      "/v1/models",
      HEADERS,
      { status: 405, type: "invalid_request_error" },
    ],
  ])("%s", async (_, path, headers, { status, type }) => {
    const { simulator } = await rig();
    const response = await fetch(simulator.url + path, { method: "POST", headers, body: "{}" });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { type },
      request_id: expect.any(String) as string,
    });
  });

  test("a bearer token is accepted as a key", async () => {
    const { simulator } = await rig();
    const headers = { authorization: "Bearer token", "anthropic-version": "2023-06-01" };
    expect((await fetch(`${simulator.url}/v1/models`, { headers })).status).toBe(200);
  });

  test("Claude Code's first request is answered without a key", async () => {
    const { simulator } = await rig();
    expect((await fetch(`${simulator.url}/api/hello`, { method: "HEAD" })).status).toBe(200);
  });

  test("a body of more than 32 MB without a Content-Length is answered with 413", async () => {
    const { simulator } = await rig();
    const megabyte = new Uint8Array(1024 * 1024);
    let left = 40;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (left-- > 0 ? controller.enqueue(megabyte) : controller.close()),
    });
    const request = { method: "POST", headers: HEADERS, body, duplex: "half" } as RequestInit;
    expect((await fetch(`${simulator.url}/v1/messages`, request)).status).toBe(413);
  });

  test("a body of more than 32 MB is answered with 413", async () => {
    const body = JSON.stringify({ ...base, messages: [{ role: "user", content: "x".repeat(33 * 1024 * 1024) }] });
    expect(await send(body)).toMatchObject({ status: 413, type: "request_too_large" });
  });
});
