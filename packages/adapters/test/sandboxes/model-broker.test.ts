import { existsSync } from "node:fs";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { createBedrockSender } from "@skein/adapters/models/bedrock";
import { createCloudUpstream } from "@skein/adapters/models/cloud-upstream";
import { KnownError, picosOfCall } from "@skein/protocol";
import { type Simulator, createSimulator, script } from "@skein/simulator";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  type ModelPass,
  type PassRules,
  createHttpUpstream,
  createModelBroker,
} from "../../src/sandboxes/model-broker/index.ts";
import { reportedCost } from "../../src/runtimes/claude-code/budget.ts";
import type { ReportedUsage } from "../../src/sandboxes/model-broker/usage-of-answer.ts";

const MODEL = "claude-opus-5-5";
let simulator: Simulator;
let broker: ReturnType<typeof createModelBroker>;
beforeAll(async () => {
  simulator = await createSimulator();
  broker = createModelBroker({ baseUrl: simulator.url, credentials: { "x-api-key": "the real key" } });
});
afterAll(async () => {
  await broker.close();
  await simulator.close();
});

async function issue(rules: PassRules = {}): Promise<ModelPass> {
  const pass = await broker.issue(rules);
  onTestFinished(() => pass.close());
  return pass;
}

interface Asked {
  readonly status: number;
  readonly body: string;
}

interface AskChange {
  readonly prompt?: string;
  readonly path?: string;
  readonly model?: string;
  readonly method?: string;
  readonly stream?: boolean;
  readonly key?: string;
  /** Further members of the request body. */
  readonly more?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls a model like a sandboxed program. */
async function ask(
  { socket, token }: ModelPass,
  {
    prompt = "Hello",
    path = "/v1/messages?beta=true",
    model = MODEL,
    method = "POST",
    stream = false,
    key = token,
    more = {},
    headers: moreHeaders = {},
  }: AskChange = {},
): Promise<Asked> {
  const messages = [{ role: "user", content: prompt }];
  const body = JSON.stringify({ model, max_tokens: 100, stream, messages, ...more });
  const form = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
  const headers = { "x-api-key": key, ...form, ...moreHeaders };
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: socket, path, method, headers }, (response) => {
      text(response).then((read) => resolve({ status: response.statusCode ?? 0, body: read }), reject);
    });
    call.on("error", reject).end(body);
  });
}

test.each([false, true])(
  "a call goes to the model with the real key, and its usage is reported (stream: %s)",
  async (stream) => {
    const told: [string, ReportedUsage][] = [];
    const pass = await issue({ onUsage: (model, usage) => told.push([model, usage]) });
    pass.open();
    const { status, body } = await ask(pass, { stream, prompt: script([{ text: "a fine answer" }]) });
    expect([status, body.includes("fine answer")]).toEqual([200, true]);
    const usage = simulator.ledger.calls().at(-1)?.usage;
    expect(told).toEqual([[MODEL, expect.objectContaining({ output_tokens: usage?.output_tokens }) as ReportedUsage]]);
    expect(pass.token).not.toContain("real");
  },
);

test.each([false, true])(
  "searches, a cache of an hour and a fast answer cost the same through the broker as without it (stream: %s)",
  async (stream) => {
    const told: ReportedUsage[] = [];
    const pass = await issue({ onUsage: (_, usage) => told.push(usage) });
    pass.open();
    const usage = {
      input_tokens: 10,
      output_tokens: 20,
      cache_creation_input_tokens: 3000,
      cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
      server_tool_use: { web_search_requests: 4, web_fetch_requests: 0 },
      speed: "fast",
    };
    await ask(pass, { stream, prompt: script([{ text: "Found.", usage } as never]) });
    expect(told.map((each) => reportedCost(MODEL, each))).toEqual([BigInt(picosOfCall(MODEL, usage) ?? 0)]);
  },
);

test("counts of a stream stay known if a later event of the stream reports null for them", async () => {
  const events = [
    { type: "message_start", message: { id: "m1", usage: { input_tokens: 1000, cache_read_input_tokens: 500 } } },
    { type: "message_delta", usage: { input_tokens: null, cache_read_input_tokens: null, output_tokens: 7 } },
  ];
  const streaming = createModelBroker({
    baseUrl: simulator.url,
    credentials: {},
    fetch: async () =>
      new Response(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""), {
        headers: { "content-type": "text/event-stream" },
      }),
  });
  onTestFinished(() => streaming.close());
  const told: ReportedUsage[] = [];
  const pass = await streaming.issue({ onUsage: (_, usage) => told.push(usage) });
  pass.open();
  expect((await ask(pass, { stream: true })).status).toBe(200);
  expect(told).toEqual([{ input_tokens: 1000, cache_read_input_tokens: 500, output_tokens: 7 }]);
});

test("the beginning of a streamed answer is reported with its token limit", async () => {
  const begun: [string, number][] = [];
  const pass = await issue({ onBegun: (...told) => void begun.push(told) });
  pass.open();
  const { body } = await ask(pass, { stream: true });
  expect(begun).toEqual([[/"id":"(msg_[^"]+)"/.exec(body)?.[1], 100]]);
  await ask(pass, { stream: false });
  expect(begun).toHaveLength(1);
});

test.each([
  ["a token of another session", { key: "skein-pass-other" }, 401, "not valid here"],
  ["the real key", { key: "the real key" }, 401, "not valid here"],
  ["another route", { path: "/v1/files" }, 404, "only call /v1/messages"],
  ["a path with `..`", { path: "/v1/messages/../files" }, 404, "only call /v1/messages"],
  ["another method", { method: "DELETE" }, 404, "only call /v1/messages"],
  ["a model that the rules of the session refuse", { model: "claude-expensive" }, 403, "may not call claude-expensive"],
])("%s is rejected, and nothing is sent", async (_, change, status, message) => {
  const pass = await issue({
    refusal: (model) => (model === MODEL ? undefined : `This session may not call ${model}.`),
  });
  pass.open();
  const before = simulator.ledger.calls().length;
  const answer = await ask(pass, change);
  expect([answer.status, answer.body]).toEqual([status, expect.stringContaining(message)]);
  expect(simulator.ledger.calls().length).toBe(before);
});

const image = (url: string): object => ({ type: "image", source: { type: "url", url } });
const saying = (...content: readonly object[]): object => ({ messages: [{ role: "user", content }] });

test.each([
  [
    "an image whose address is in no prompt",
    saying(image("https://evil.example/?q=secret")),
    "not in one of its prompts",
  ],
  [
    "an image in the result of a tool",
    saying({ type: "tool_result", tool_use_id: "t1", content: [image("https://evil.example/")] }),
    "not in one of its prompts",
  ],
  [
    "an image inside of a document",
    saying({ type: "document", source: { type: "content", content: [image("https://evil.example/")] } }),
    "not in one of its prompts",
  ],
  ["MCP servers of the provider", { mcp_servers: [{ type: "url", url: "https://evil.example/" }] }, "call MCP servers"],
  ["a tool that fetches", { tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] }, "web_fetch_20250910"],
  [
    "code that runs at the provider",
    { tools: [{ type: "code_execution_20250825", name: "run" }] },
    "code_execution_20250825",
  ],
  [
    "a search without the tool WebSearch",
    { tools: [{ type: "web_search_20250305", name: "s" }] },
    "web_search_20250305",
  ],
])(
  "a request for %s is rejected: a program without a network cannot use the provider's network",
  async (_, more, says) => {
    const pass = await issue({
      allowsUrl: (url) => url === "https://images.example.com/loom.png",
      allowsTool: (name) => name !== "WebSearch",
    });
    pass.open();
    const before = simulator.ledger.calls().length;
    const answer = await ask(pass, { more });
    expect([answer.status, answer.body]).toEqual([403, expect.stringContaining(says)]);
    expect(simulator.ledger.calls().length).toBe(before);
  },
);

test("images of prompts, tools of the program and searches are forwarded", async () => {
  const pass = await issue({ allowsUrl: (url) => url === "https://images.example.com/loom.png" });
  pass.open();
  const tools = [
    { name: "Bash", input_schema: { type: "object" } },
    { type: "web_search_20250305", name: "web_search" },
  ];
  const said = saying(image("https://images.example.com/loom.png"), { type: "text", text: "What is this?" });
  expect(await ask(pass, { more: { tools, ...said } })).toMatchObject({ status: 200 });
});

test.each([
  ["no max_tokens", { max_tokens: undefined }],
  ["a negative max_tokens", { max_tokens: -1000 }],
  ["a max_tokens that is a text", { max_tokens: "100000" }],
])("a call with %s is rejected, because its cost cannot be reserved", async (_, more) => {
  const asked: number[] = [];
  const pass = await issue({ pay: async ({ maxTokens }) => (asked.push(maxTokens), "too expensive") });
  pass.open();
  const { status, body } = await ask(pass, { more });
  expect([status, body, asked]).toEqual([400, expect.stringContaining("max_tokens"), []]);
});

test("a member that occurs twice in a body is forwarded once, with the checked value", async () => {
  const sent: string[] = [];
  const watched = createModelBroker({
    baseUrl: simulator.url,
    credentials: { "x-api-key": "the real key" },
    fetch: async (url, init) => (sent.push(await new Response(init?.body).text()), fetch(url, init)),
  });
  onTestFinished(() => watched.close());
  const pass = await watched.issue({ refusal: (model) => (model === MODEL ? undefined : "not this one") });
  pass.open();
  const rest = { model: MODEL, max_tokens: 9, messages: [{ role: "user", content: "Hi." }] };
  const form = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
  const headers = { "x-api-key": pass.token, ...form };
  const status = await new Promise((resolve, reject) => {
    request({ socketPath: pass.socket, path: "/v1/messages", method: "POST", headers }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    })
      .on("error", reject)
      .end(`{"model":"claude-fable-5","max_tokens":90000,${JSON.stringify(rest).slice(1)}`);
  });
  expect(status).toBe(200);
  expect(sent).toHaveLength(1);
  expect(sent[0]).not.toMatch(/fable|90000/);
});

test("a body that is too large is rejected even without a content-length", async () => {
  const pass = await issue();
  pass.open();
  const headers = { "x-api-key": pass.token, "content-type": "application/json", "transfer-encoding": "chunked" };
  const status = await new Promise<number>((resolve, reject) => {
    const call = request({ socketPath: pass.socket, path: "/v1/messages", method: "POST", headers }, (response) => {
      resolve(response.statusCode ?? 0);
      call.destroy();
    });
    const piece = Buffer.alloc(8 * 1024 * 1024, " ");
    const more = (left: number): void => {
      if (left === 0) call.end();
      else call.write(piece, () => more(left - 1));
    };
    call.on("error", reject);
    more(7);
  });
  expect(status).toBe(413);
});

test("only headers of the Messages API are forwarded", async () => {
  const seen: Record<string, unknown>[] = [];
  const watched = createModelBroker({
    baseUrl: simulator.url,
    credentials: { "x-api-key": "the real key" },
    fetch: async (url, init) => (seen.push({ ...(init?.headers as object) }), fetch(url, init)),
  });
  onTestFinished(() => watched.close());
  const pass = await watched.issue({});
  pass.open();
  await ask(pass, {
    headers: { "x-goog-user-project": "other", cookie: "a=b", "anthropic-beta": "one", forwarded: "x" },
  });
  expect(seen).toEqual([
    {
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "one",
      "accept-encoding": "identity",
      "x-api-key": "the real key",
    },
  ]);
});

test.each([
  ["an answer that is not streamed counts as the longest possible answer", false, { least: 100, most: 100 }],
  ["a stream counts with the part that arrived", true, { least: 0, most: 10 }],
])("a call whose caller disconnects is still counted: %s", async (_, stream, { least, most }) => {
  const told: ReportedUsage[] = [];
  const pass = await issue({ onUsage: (_model, usage) => void told.push(usage) });
  pass.open();
  const body = JSON.stringify({
    model: MODEL,
    max_tokens: 100,
    stream,
    messages: [{ role: "user", content: script([{ text: "slow", hang: true }]) }],
  });
  const headers = { "x-api-key": pass.token, "content-type": "application/json", "anthropic-version": "2023-06-01" };
  const call = request({ socketPath: pass.socket, path: "/v1/messages", method: "POST", headers });
  call.on("error", () => {}).end(body);
  const open = (): number => simulator.ledger.calls({ outcome: "open" }).length;
  await expect.poll(open).toBe(1);
  call.destroy();
  await expect.poll(() => told.length).toBe(1);
  expect(told[0]?.input_tokens).toBeGreaterThan(0);
  expect(told[0]?.output_tokens).toBeGreaterThanOrEqual(least);
  expect(told[0]?.output_tokens).toBeLessThanOrEqual(most);
  await expect.poll(open).toBe(0);
});

test("a pass (a program's access to models) works only while it is open, and shutting it aborts a call in progress", async () => {
  const pass = await issue();
  expect(await ask(pass)).toMatchObject({
    status: 403,
    body: expect.stringContaining("run of this session is over") as string,
  });
  pass.open();
  expect((await ask(pass)).status).toBe(200);
  const silent = ask(pass, { stream: true, prompt: script([{ text: "slow", hang: true }]) }).catch(() => "cut");
  await expect.poll(() => simulator.ledger.calls({ outcome: "open" }).length).toBe(1);
  pass.shut();
  expect(await Promise.race([silent, new Promise((resolve) => setTimeout(resolve, 5000, "still open"))])).not.toBe(
    "still open",
  );
  expect((await ask(pass)).status).toBe(403);
});

test("if a model cannot be reached, the client gets an error with the reason", async () => {
  const closed = await createSimulator();
  await closed.close();
  const away = createModelBroker({ baseUrl: closed.url, credentials: {} });
  onTestFinished(() => away.close());
  const pass = await away.issue({});
  pass.open();
  expect(await ask(pass)).toMatchObject({
    status: 502,
    body: expect.stringContaining("cannot be reached: ECONNREFUSED") as string,
  });
});

test("the socket is removed with its pass", async () => {
  const pass = await broker.issue({});
  expect(existsSync(pass.socket)).toBe(true);
  await pass.close();
  expect(existsSync(pass.socket)).toBe(false);
});

describe("a model with a separate address", () => {
  const name = "home/größe";
  let elsewhere: Simulator;
  let pass: ModelPass;
  beforeAll(async () => {
    elsewhere = await createSimulator();
    const credentials = { "x-api-key": "another key" };
    const send = createBedrockSender({ region: "eu-west-1", key: "a key of Bedrock", url: elsewhere.url });
    pass = await broker.issue({
      async reach(model) {
        if (model === "openai/gpt-6") throw new KnownError("invalid", "It speaks another API.");
        if (model === name)
          return { modelName: "qwen3:8b", upstream: createHttpUpstream({ baseUrl: elsewhere.url, credentials }) };
        return model === "bedrock/opus"
          ? { modelName: "eu.anthropic.opus", upstream: createCloudUpstream(send) }
          : undefined;
      },
    });
    pass.open();
  });
  afterAll(async () => {
    await pass.close();
    await elsewhere.close();
  });
  const sent = () => elsewhere.ledger.calls().at(-1);

  test.each([
    [name, false, "qwen3:8b"],
    [name, true, "qwen3:8b"],
    ["bedrock/opus", false, "eu.anthropic.opus"],
    ["bedrock/opus", true, "eu.anthropic.opus"],
  ])(
    "a call of %s is sent with the name that its server has for the model, and the answer has Skein's name (stream: %s)",
    async (model, stream, own) => {
      const before = simulator.ledger.calls().length;
      const { status, body } = await ask(pass, { model, stream, prompt: script([{ text: "ein größeres 🙂" }]) });
      expect([status, sent()?.model]).toEqual([200, own]);
      const first = stream ? /^data: (.*)$/m.exec(body)?.[1] : body;
      const told = JSON.parse(first ?? "") as { model?: string; message?: { model: string } };
      expect((told.message ?? told).model).toBe(model);
      if (!stream) expect(body).toContain("ein größeres 🙂");
      expect(simulator.ledger.calls().length).toBe(before);
    },
  );

  test("a model that cannot be used is refused with the reason, and nothing is sent", async () => {
    const before = elsewhere.ledger.calls().length;
    const { status, body } = await ask(pass, { model: "openai/gpt-6" });
    expect([status, body]).toEqual([403, expect.stringContaining("It speaks another API.")]);
    expect(elsewhere.ledger.calls().length).toBe(before);
  });

  test("an error of a cloud has the format of the Messages API", async () => {
    const prompt = script([{ error: { status: 429, retryAfter: 7 } }]);
    const { status, body } = await ask(pass, { model: "bedrock/opus", stream: true, prompt });
    expect([status, JSON.parse(body)]).toMatchObject([429, { type: "error", error: { type: "rate_limit_error" } }]);
    const broken = script([{ text: "The beginning", streamError: { type: "overloaded_error" } }]);
    const whole = await ask(pass, { model: "bedrock/opus", stream: false, prompt: broken });
    expect([whole.status, JSON.parse(whole.body)]).toMatchObject([502, { error: { type: "overloaded_error" } }]);
    const path = "/v1/messages/count_tokens";
    expect((await ask(pass, { model: "bedrock/opus", path })).status).toBe(404);
  });
});
