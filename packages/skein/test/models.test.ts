/** Models of several providers in one process, and sessions that change between them. */
import { type ModelSettings, KnownError, exactCost, givenPrice, priceCall } from "@skein/protocol";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type ModelCall, type ModelReply, createMemoryStore, createModels, defineTool } from "@skein/core";
import { sampleCall } from "@skein/core/testing";
import { createGoogle } from "@ai-sdk/google";
import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import { type Simulator, type Step, createSimulator, script } from "@skein/simulator";
import { createAgent } from "skein";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { checkModelSettings, createModelCatalog } from "../src/model-catalog.ts";
import { tryModel } from "../src/model-trial.ts";
import { type SentRequest, typeProblems } from "./request-types.ts";

let simulator: Simulator;
beforeAll(async () => {
  simulator = await createSimulator();
});
afterAll(() => simulator.close());
afterEach(() => vi.unstubAllEnvs());

const PRICE = { input: 0.5, output: 1.5, cache_read: 0.05, cache_write: 0.6, date: "2026-11-18" };
const CLAUDE = "claude-sonnet-5-5";
const OPENAI = "openai/gpt-6";
const CHAT = "openai-compatible/llama";
const OTHER = "openai-compatible/messages-server";
const GEMINI = "google/gemini-3-pro";
const NAMES = [CLAUDE, OPENAI, CHAT, OTHER, GEMINI];

/** A store with three models besides Claude, all on the simulator. */
async function storeWithModels() {
  const store = createMemoryStore();
  const models = createModels({ records: store.records });
  vi.stubEnv("OPENAI_API_KEY", "sk-simulated");
  const add = (name: string, settings: ModelSettings) => models.add({ name, settings: { price: PRICE, ...settings } });
  await add(OPENAI, { url: `${simulator.url}/v1` });
  vi.stubEnv("LLAMA_KEY", "simulated");
  await add(CHAT, { url: `${simulator.url}/v1`, key_env: "LLAMA_KEY", abilities: { images: true } });
  await add(OTHER, { adapter: "anthropic", url: simulator.url, model_name: "glm" });
  return store;
}

const look = defineTool({
  name: "look",
  description: "Looks at a thing.",
  input: { type: "object", properties: { at: { type: "string" } } },
  policy: "repeatable",
  run: () => [
    { type: "text", text: "a red square" },
    {
      type: "image",
      source: {
        type: "base64",
        media_type: "image/png",
        data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      },
    },
  ],
});

const steps = (answer: string): readonly Step[] => [
  { thinking: "I should look.", text: "Looking.", tools: [{ name: "look", input: { at: "it" } }] },
  { thinking: "Now I know.", text: answer },
];

const gemini = (name: string) => createGoogle({ baseURL: `${simulator.url}/v1beta`, apiKey: "k" })(name);

/** The requests of all sessions that changed their model. */
const sent: SentRequest[] = [];

const pairs = NAMES.flatMap((one) => NAMES.map((other) => [one, other] as const));

test.each(pairs)(
  "a session that changes its model from %s to %s and back: every request is accepted, and usage and cost are exact",
  async (one, other) => {
    const label = `${one} then ${other}`;
    const store = await storeWithModels();
    const agent = createAgent({
      store,
      model: one,
      tools: [look],
      thinking_tokens: 2048,
      max_tokens: 8000,
      baseUrl: simulator.url,
      apiKey: "simulated",
      models: { [GEMINI]: { model: gemini("gemini-3-pro"), price: PRICE } },
    });
    try {
      let sessionId: string | undefined;
      for (const [at, model] of [one, other, one].entries()) {
        const prompt = script(steps(`Answer ${at}.`), label);
        const result = await agent.run(prompt, { model, ...(sessionId !== undefined && { sessionId }) });
        expect(result.error).toBeNull();
        expect(result.finalAnswer).toBe(`Answer ${at}.`);
        sessionId = result.sessionId;
      }
      const calls = simulator.ledger.calls({ label });
      sent.push(...calls);
      expect(calls.map(({ outcome }) => outcome)).toEqual(calls.map(() => "answered"));
      const { items } = await (await agent.sessions()).runs(sessionId ?? "");
      const total = (key: "input_tokens" | "output_tokens" | "cache_read_input_tokens") =>
        items.reduce((sum, { usage }) => sum + usage[key], 0);
      for (const key of ["input_tokens", "output_tokens", "cache_read_input_tokens"] as const)
        expect(total(key)).toBe(calls.reduce((sum, { usage }) => sum + (usage?.[key] ?? 0), 0));
      const billed = calls.reduce((sum, { model, usage }) => {
        const price = model === CLAUDE ? undefined : givenPrice(String(model), PRICE);
        const cost = usage && priceCall(String(model), usage, price);
        return sum + (cost ? exactCost(cost).total : 0n);
      }, 0n);
      expect(items.reduce((sum, { cost_picos }) => sum + BigInt(cost_picos), 0n)).toBe(billed);
      expect(items.every(({ unpriced_calls }) => unpriced_calls === 0)).toBe(true);
    } finally {
      await agent.close();
    }
  },
);

describe("the catalog", () => {
  const claude = createAnthropicModel({ apiKey: "none" });
  const catalogOf = (more: Partial<Parameters<typeof createModelCatalog>[0]> = {}) =>
    createModelCatalog({
      claude,
      isGateway: false,
      records: createMemoryStore().records,
      keyIn: () => undefined,
      ...more,
    });
  const failing = async (name: string, more: Partial<Parameters<typeof createModelCatalog>[0]> = {}) => {
    const model = catalogOf(more).named("default", name);
    const asked = model.call({} as never, () => {}, new AbortController().signal);
    return asked.then(
      () => "answered",
      (error: Error) => error.message,
    );
  };

  test("bare names, Anthropic's names and Bedrock profiles select Claude, and a gateway gets every unknown name", () => {
    for (const name of [
      "claude-sonnet-5-5",
      "anthropic/claude-sonnet-5-5",
      "arn:aws:bedrock:eu-west-1:1:inference-profile/x",
    ])
      expect(catalogOf().named("default", name)).toBe(claude);
    expect(catalogOf({ isGateway: true }).named("default", "mistral/large")).toBe(claude);
  });

  test("a call of an unknown model or of a model without a key fails immediately, and the error says what to do", async () => {
    expect(await failing("nobody/x")).toContain('"skein models add nobody/x --url URL"');
    expect(await failing("groq/x")).toContain("GROQ_API_KEY");
    expect(await failing("bedrock/x")).toContain("AWS_BEARER_TOKEN_BEDROCK");
    const cloud = { "mine/x": { adapter: "bedrock", region: "eu-west-1" } } as const;
    expect(await failing("mine/x", { configured: cloud })).toContain("AWS_BEARER_TOKEN_BEDROCK");
    const keyIn = (name: string) => (/REGION|PROJECT/.test(name) ? undefined : "k");
    expect(await failing("bedrock/x", { keyIn })).toContain("AWS_REGION");
    const configured = { "vertex/x": { region: "global" } };
    expect(await failing("vertex/x", { keyIn, configured })).toContain("ANTHROPIC_VERTEX_PROJECT_ID");
  });

  test("a process finds a model that was added 5 s ago; a configured model of the same name takes precedence", async () => {
    let now = 0;
    const { records } = createMemoryStore();
    const catalog = catalogOf({ records, now: () => now });
    await catalog.refresh("default");
    const price = { input: 3, output: 4, date: "2026-11-18" };
    await createModels({ records }).add({ name: "ollama/x", settings: { price } });
    await catalog.refresh("default");
    expect(catalog.named("default", "ollama/x").price).toBeUndefined();
    now += 5000;
    await catalog.refresh("default");
    expect(catalog.named("default", "ollama/x").price?.prices.input).toBe(3_000_000);
    expect(catalog.named("acme", "ollama/x").price).toBeUndefined();
    const configured = { "ollama/x": { price: { ...price, input: 5 } } };
    expect(catalogOf({ records, configured }).named("default", "ollama/x").price?.prices.input).toBe(5_000_000);
  });

  test.each([
    ["x/y", {}, "one of the providers"],
    ["openai-compatible/y", {}, "the address of the model's server"],
    ["ollama/y", { quirks: { nothing: true } }, "nothing"],
    ["openai/y", { region: "eu-west-1" }, "A region is for the adapters bedrock and vertex"],
    ["bedrock/y", { project: "p-1" }, "a project for vertex"],
  ])("settings of %s that cannot work are rejected: %o", (name, settings, sentence) => {
    expect(() => checkModelSettings(name, settings)).toThrow(KnownError);
    expect(() => checkModelSettings(name, settings)).toThrow(sentence);
  });
});

test.each([
  ["bedrock/eu.anthropic.claude-sonnet-5-5", { region: "eu-west-1" }, "bedrock", ""],
  ["vertex/claude-sonnet-5-5", { region: "europe-west1", project: "p-1" }, "vertex", "/v1"],
] as const)(
  "a session that begins with Claude continues with %s and ends with another model",
  async (name, place, kind, base) => {
    const label = `cloud ${kind}`;
    for (const variable of ["AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"]) vi.stubEnv(variable, undefined);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "invented");
    vi.stubEnv("GOOGLE_CREDENTIALS", "invented");
    const agent = createAgent({
      store: await storeWithModels(),
      model: CLAUDE,
      tools: [look],
      thinking_tokens: 2048,
      max_tokens: 8000,
      baseUrl: simulator.url,
      apiKey: "simulated",
      models: { [name]: { ...place, url: `${simulator.url}${base}` } },
    });
    try {
      let sessionId: string | undefined;
      for (const [at, model] of [CLAUDE, name, OPENAI].entries()) {
        const more = sessionId === undefined ? {} : { sessionId };
        const result = await agent.run(script(steps(`Answer ${at}.`), label), { model, ...more });
        expect([result.error, result.finalAnswer]).toEqual([null, `Answer ${at}.`]);
        sessionId = result.sessionId;
      }
      const calls = simulator.ledger.calls({ label });
      sent.push(...calls);
      expect(calls.map((call) => call.kind)).toEqual(["messages", "messages", kind, kind, "responses", "responses"]);
      // Every Claude model, behind any provider, can read Claude's signed thinking.
      expect(JSON.stringify(calls[2]?.request)).toContain("I should look.");
      const { items } = await (await agent.sessions()).runs(sessionId ?? "");
      // The second of the three runs was in the cloud.
      const inCloud = items[1];
      const billed = calls
        .slice(2, 4)
        .reduce((sum, { usage }) => sum + exactCost(priceCall("eu.anthropic.claude-sonnet-5-5", usage!)!).total, 0n);
      expect([BigInt(inCloud?.cost_picos ?? 0), inCloud?.unpriced_calls]).toEqual([billed, 0]);
    } finally {
      await agent.close();
    }
  },
);

test(
  "every request of the sessions that changed their model fits the types of the provider's SDK",
  { timeout: 60_000 },
  () => {
    expect(sent.length).toBeGreaterThan(pairs.length * 5);
    expect(new Set(sent.map(({ kind }) => kind)).size).toBe(6);
    const wrong = { kind: "responses", request: { model: "gpt-6", stream: true, input: [{ type: "nothing" }] } };
    const problems = typeProblems([...sent, wrong]);
    expect(problems).toMatch(/nothing/);
    expect(problems.split("\n").filter((line) => line.startsWith("requests.ts"))).toHaveLength(1);
  },
);

test.each([
  ["off", 0, 0],
  ["short", 1, 0],
  ["long", 0, 1],
] as const)("with the cache setting %s, cache writes have the right lifetime and price", async (cache, short, long) => {
  const label = `cache ${cache}`;
  const system_prompt = `${label} ${"word ".repeat(4000)}`;
  const agent = createAgent({ model: CLAUDE, cache, system_prompt, baseUrl: simulator.url, apiKey: "simulated" });
  try {
    const { sessionId } = await agent.run(script([{ text: "Done." }], label));
    const [call] = simulator.ledger.calls({ label });
    const { ephemeral_5m_input_tokens, ephemeral_1h_input_tokens } = call?.usage?.cache_creation ?? {};
    expect([ephemeral_5m_input_tokens ?? 0, ephemeral_1h_input_tokens ?? 0].map((count) => Math.sign(count))).toEqual([
      short,
      long,
    ]);
    const { items } = await (await agent.sessions()).runs(sessionId);
    const price = call?.usage && priceCall(CLAUDE, call.usage);
    expect(BigInt(items[0]?.cost_picos ?? -1)).toBe(price && exactCost(price).total);
  } finally {
    await agent.close();
  }
});

test("OpenAI is asked to keep a conversation for a day if the cache is long, and gets no cache key if the cache is off", async () => {
  for (const [cache, told] of [
    ["off", [undefined, undefined]],
    ["short", [expect.any(String), undefined]],
    ["long", [expect.any(String), "24h"]],
  ] as const) {
    const label = `openai cache ${cache}`;
    const store = await storeWithModels();
    const agent = createAgent({ store, model: OPENAI, cache, baseUrl: simulator.url, apiKey: "simulated" });
    await agent.run(script([{ text: "Done." }], label));
    await agent.close();
    const [call] = simulator.ledger.calls({ label });
    const { prompt_cache_key, prompt_cache_retention } = (call?.request ?? {}) as Record<string, unknown>;
    expect([prompt_cache_key, prompt_cache_retention]).toEqual(told);
  }
});

test("a trial has one result for each ability of the model", async () => {
  const store = await storeWithModels();
  const catalog = createModelCatalog({
    claude: createAnthropicModel({ apiKey: "" }),
    isGateway: false,
    records: store.records,
    keyIn: () => "k",
  });
  await catalog.refresh("default");
  const trials = [];
  for await (const trial of tryModel(OPENAI, catalog.named("default", OPENAI), new AbortController().signal))
    trials.push([trial.ability, trial.outcome]);
  expect(trials).toEqual([
    ["text", "works"],
    ["tools", "works"],
    ["parallel_tools", "works"],
    ["images", "works"],
    ["pdf", "works"],
    ["thinking", "works"],
    ["output", "works"],
    ["caching", "works"],
  ]);
});

test.each([
  ["anthropic", { tool_choice: { type: "auto", disable_parallel_tool_use: true } }],
  ["openai", { parallel_tool_calls: false }],
  ["openai-compatible", { parallel_tool_calls: false }],
] as const)(
  "%s: requests to a model without parallel tools and caching forbid parallel calls and set no cache marks",
  async (adapter, told) => {
    const name = "own/model";
    const bodyWith = (abilities: object) => {
      const settings = { adapter, url: simulator.url, abilities };
      const catalog = createModelCatalog({
        claude: createAnthropicModel({ apiKey: "" }),
        isGateway: false,
        records: createMemoryStore().records,
        configured: { [name]: settings },
        keyIn: () => undefined,
      });
      const tools = [{ name: "add", description: "Adds.", input_schema: { type: "object" } }];
      return catalog.named("default", name).prepare(sampleCall({ model: name, system: "S", tools, cache: "long" }))
        .body;
    };
    const lacking = bodyWith({ parallel_tools: false, caching: false });
    expect(lacking).toMatchObject(told);
    expect(JSON.stringify(lacking)).not.toMatch(/cache/);
    const usual = bodyWith({});
    expect(JSON.stringify(usual)).not.toMatch(/parallel/);
    if (adapter !== "openai-compatible") expect(JSON.stringify(usual)).toMatch(/cache/);
  },
);

test.each([
  [{}, { key: undefined, authorization: "Bearer sk-own" }],
  [{ key_header: "x-api-key" }, { key: "sk-own", authorization: undefined }],
] as const)("the key of a model with the settings %o is sent in one header only", async (more, expected) => {
  const seen: object[] = [];
  const server = createServer(({ headers }, response) => {
    seen.push({ key: headers["x-api-key"], authorization: headers.authorization });
    response.writeHead(401).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const catalog = createModelCatalog({
    claude: createAnthropicModel({ apiKey: "" }),
    isGateway: false,
    records: createMemoryStore().records,
    configured: { "own/glm": { adapter: "anthropic", url, key_env: "KEY", ...more } },
    keyIn: () => "sk-own",
  });
  const call = catalog
    .named("default", "own/glm")
    .call(sampleCall({ model: "own/glm" }), () => {}, new AbortController().signal);
  await expect(call).rejects.toMatchObject({ failure: { code: "authentication_error" } });
  server.close();
  expect(seen).toEqual([expected]);
});

test.each(["sliding_window", "summarize"] as const)(
  "the compactor %s begins before the context window of the model is full",
  async (compactor_type) => {
    const store = await storeWithModels();
    const url = `${simulator.url}/v1`;
    await createModels({ records: store.records }).add({
      name: CHAT,
      settings: { url, key_env: "LLAMA_KEY", context_window: 4000 },
    });
    const agent = createAgent({
      store,
      model: CHAT,
      compactor_type,
      max_tokens: 1000,
      apiKey: "k",
      baseUrl: simulator.url,
    });
    const checks: object[] = [];
    let sessionId: string | undefined;
    for (let at = 0; at < 4; at += 1) {
      const prompt = `${script([{ text: "Noted." }], `window ${compactor_type} ${at}`)} ${"word ".repeat(1500)}`;
      const onEvent = { "compaction.checked": ({ data }: { data: object }) => void checks.push(data) };
      sessionId = (await agent.run(prompt, { ...(sessionId !== undefined && { sessionId }), onEvent })).sessionId;
    }
    await agent.close();
    expect(checks).toContainEqual(expect.objectContaining({ applied: true, threshold: 3000 }));
  },
);

test("a configured price for a Claude model replaces the known price, and changes nothing else", async () => {
  const label = "corrected price";
  const agent = createAgent({
    model: CLAUDE,
    models: { [CLAUDE]: { price: PRICE } },
    baseUrl: simulator.url,
    apiKey: "simulated",
  });
  const { cost, error } = await agent.run(script([{ text: "Done." }], label));
  await agent.close();
  expect(error).toBeNull();
  const { input_tokens = 0, output_tokens = 0 } = simulator.ledger.calls({ label })[0]?.usage ?? {};
  expect(cost?.total_cost).toBeCloseTo((input_tokens * PRICE.input + output_tokens * PRICE.output) / 1e6, 9);
});

test("a trial reports a cause once if several abilities fail because of it", async () => {
  const model = {
    ...createAnthropicModel({ apiKey: "" }),
    call: async ({ turns: [turn], tools }: ModelCall): Promise<ModelReply> => {
      if (typeof turn?.content !== "string") throw new Error("No files here.");
      return {
        content: [{ type: "text", text: tools.length === 0 ? "hello" : "no call" }],
        stopReason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
        model: "any",
        containerId: null,
      };
    },
  };
  const details: Record<string, string> = {};
  for await (const { ability, detail } of tryModel("any", model, new AbortController().signal))
    details[ability] = detail;
  expect(details).toMatchObject({
    tools: "No tool was called. Answer: no call",
    images: "No files here.",
    pdf: "For the same reason as images.",
  });
});

test("a trial of a model that does not answer reports the cause once and makes no further calls", async () => {
  let calls = 0;
  const model = {
    ...createAnthropicModel({ apiKey: "" }),
    call: async () => {
      calls += 1;
      throw new Error("The key is wrong.");
    },
  };
  const trials = [];
  for await (const trial of tryModel("any", model, new AbortController().signal)) trials.push(trial);
  expect(trials.map(({ outcome }) => outcome)).toEqual(["fails", ...Array.from({ length: 7 }, () => "not tried")]);
  expect(trials.filter(({ detail }) => detail.includes("wrong"))).toHaveLength(1);
  expect(calls).toBe(1);
});
