import type { Simulator } from "@skein/simulator";
import { createAgent, defineTool } from "skein";
import { expect, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "./simulated.ts";

interface Body {
  readonly model: string;
  readonly max_tokens: number;
  readonly system?: readonly { readonly text: string; readonly cache_control?: unknown }[];
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly Record<string, unknown>[];
  readonly [key: string]: unknown;
}

/** The model's requests, in order. */
function bodies(simulator: Simulator): readonly Body[] {
  return simulator.ledger.calls({ kind: "messages" }).map(({ request }) => request as Body);
}

const look = defineTool({
  name: "look",
  description: "Looks at something.",
  input: z.object({ at: z.string().describe("What to look at.") }),
  policy: "repeatable",
  run: ({ at }) => `I see ${at}`,
});

test("an agent without settings has the defaults of the agent tables: 2048 tokens, no thinking, no tools, no system prompt", async () => {
  const { agent, simulator } = await simulatedAgent();
  await agent.run(scripted("Defaults", [{ text: "Hello" }]));
  const [body] = bodies(simulator);
  expect(body).toMatchObject({ max_tokens: 2048, stream: true });
  for (const absent of ["system", "tools", "thinking", "container", "tool_choice"])
    expect(body).not.toHaveProperty(absent);
});

test("system_prompt, model and max_tokens are sent to the model", async () => {
  const { agent, simulator } = await simulatedAgent({
    system_prompt: "Speak like a sailor.",
    model: "claude-haiku-4-5",
    max_tokens: 777,
  });
  await agent.run(scripted("Three fields", [{ text: "Ahoy" }]));
  const [body] = bodies(simulator);
  expect(body).toMatchObject({ model: "claude-haiku-4-5", max_tokens: 777 });
  expect(body?.system?.map(({ text }) => text)).toEqual(["Speak like a sailor."]);
});

test("max_tokens ends the run if it cuts the answer", async () => {
  const { agent } = await simulatedAgent({ max_tokens: 8 });
  const result = await agent.run(scripted("Cut", [{ text: "word ".repeat(100) }]));
  expect(result).toMatchObject({ stopReason: "max_tokens", error: null });
});

test("a tool call that max_tokens cut off is not executed, and the model is told", async () => {
  let ran = 0;
  const write = defineTool({
    name: "write",
    description: "Writes.",
    input: z.looseObject({}),
    run: () => {
      ran += 1;
    },
  });
  const { agent } = await simulatedAgent({ tools: [write] });
  const result = await agent.run(
    scripted("Cut in a call", [
      { text: "Writing.", tools: [{ name: "write", input: {} }], stop: "max_tokens" },
      { text: "I will be shorter." },
    ]),
  );
  expect(ran).toBe(0);
  expect(result).toMatchObject({ finalAnswer: "I will be shorter.", stopReason: "end_turn" });
  expect(JSON.stringify(result.conversationHistory)).toContain("max_tokens");
});

test("max_steps: after the last step, one model call that forbids tools writes a summary, and the stop reason is max_steps", async () => {
  const { agent, simulator } = await simulatedAgent({ max_steps: 2, tools: [look] });
  const result = await agent.run(scripted("Never ends", [{ tools: [{ name: "look", input: { at: "the sea" } }] }]));
  expect(result).toMatchObject({ stopReason: "max_steps", error: null });
  expect(result.totalSteps).toBe(3);
  const sent = bodies(simulator);
  expect(sent).toHaveLength(3);
  expect(sent[2]?.["tool_choice"]).toEqual({ type: "none" });
  expect(JSON.stringify(sent[2]?.messages.at(-1))).toContain("limit of steps");
  expect(result.agentLogs.map(({ actionType }) => actionType)).toEqual(
    expect.arrayContaining(["max_steps_reached", "final_summary_generation", "run_completed"]),
  );
});

test("thinking_tokens is a budget in addition to max_tokens, and thinking is sent back unchanged", async () => {
  const { agent, simulator } = await simulatedAgent({ thinking_tokens: 4096, tools: [look] });
  const result = await agent.run(
    scripted("Think", [{ thinking: "Hm.", tools: [{ name: "look", input: { at: "it" } }] }, { text: "Done" }]),
  );
  expect(result).toMatchObject({ finalAnswer: "Done", error: null });
  const [first, second] = bodies(simulator);
  expect(first?.["thinking"]).toEqual({ type: "enabled", budget_tokens: 4096 });
  // The limit must be larger than the thinking budget, so that there is room for an answer.
  expect(first?.max_tokens).toBe(4096 + 2048);
  expect(JSON.stringify(second?.messages[1])).toContain('"thinking":"Hm."');
});

test("tool_schemas: name, description and schema of every tool are sent", async () => {
  const { agent, simulator } = await simulatedAgent({ tools: [look] });
  await agent.run(scripted("Tools", [{ text: "None needed" }]));
  expect(bodies(simulator)[0]?.tools).toEqual([
    {
      name: "look",
      description: "Looks at something.",
      input_schema: {
        type: "object",
        properties: { at: { type: "string", description: "What to look at." } },
        required: ["at"],
      },
    },
  ]);
});

test("server_tools and beta_headers are sent to the API, and the next run uses the same container", async () => {
  const { agent, simulator } = await simulatedAgent({
    server_tools: [
      { type: "code_execution_20250825", name: "code_execution" },
      { type: "web_search_20250305", name: "web_search", max_uses: 3 },
    ],
    beta_headers: ["code-execution-2025-08-25", "files-api-2025-04-14"],
  });
  const first = await agent.run(
    scripted("Compute", [
      {
        code: { command: "echo 4", stdout: "4\n" },
        search: { query: "sea", results: [{ title: "Sea", url: "https://sea.example", cite: "wet" }] },
        text: "Computed",
      },
    ]),
  );
  expect(first.containerId).toMatch(/^container_/);
  expect(first.finalAnswer).toBe("Computed");
  const second = await agent.run(scripted("Again", [{ text: "Still here" }]), { sessionId: first.sessionId });
  expect(second.error).toBeNull();
  const [one, two] = bodies(simulator);
  expect(one?.tools?.map(({ type }) => type)).toEqual(["code_execution_20250825", "web_search_20250305"]);
  expect(one).not.toHaveProperty("container");
  expect(two?.["container"]).toBe(first.containerId);
  expect(simulator.ledger.calls({ kind: "messages" })[0]?.headers["anthropic-beta"]).toBe(
    "code-execution-2025-08-25,files-api-2025-04-14",
  );
});

test("an expired container is dropped, and the next attempt gets a new one", async () => {
  const { agent, simulator } = await simulatedAgent({
    server_tools: [{ type: "code_execution_20250825", name: "code_execution" }],
    base_delay: 0.01,
  });
  const code = { command: "echo 4", stdout: "4\n" };
  const { sessionId, containerId } = await agent.run(scripted("Compute", [{ code, text: "4" }]));
  const expired = {
    status: 400,
    type: "invalid_request_error",
    message: `Container ${containerId} has expired.`,
    times: 1,
  };
  const result = await agent.run(scripted("Later", [{ error: expired, code, text: "Again 4" }]), { sessionId });
  expect(result).toMatchObject({ finalAnswer: "Again 4", error: null });
  expect(result.containerId).not.toBe(containerId);
  expect(bodies(simulator).map((body) => body["container"])).toEqual([undefined, containerId, undefined]);
});

test("pause_turn: the model continues where it paused", async () => {
  const { agent, simulator } = await simulatedAgent({
    server_tools: [{ type: "code_execution_20250825", name: "code_execution" }],
  });
  const result = await agent.run(
    scripted("Pause", [
      { code: { command: "sleep", stdout: "…" }, text: "Half", stop: "pause_turn" },
      { text: "Whole" },
    ]),
  );
  expect(result).toMatchObject({ stopReason: "end_turn", finalAnswer: "Whole", totalSteps: 2 });
  expect(bodies(simulator)[1]?.messages.at(-1)?.role).toBe("assistant");
});

test("api_kwargs are sent to the API, but cannot replace parameters that the loop sets", async () => {
  const { agent, simulator } = await simulatedAgent({
    api_kwargs: { stop_sequences: ["STOP"], metadata: { user_id: "u1" }, max_tokens: 5, messages: [] },
  });
  const result = await agent.run(scripted("Kwargs", [{ text: "Go on STOP never" }]));
  expect(result).toMatchObject({ stopReason: "stop_sequence", finalAnswer: "Go on " });
  expect(bodies(simulator)[0]).toMatchObject({
    stop_sequences: ["STOP"],
    metadata: { user_id: "u1" },
    max_tokens: 2048,
  });
});

test("temperature and top_p in api_kwargs are sent to the API version that accepts them", async () => {
  const api_kwargs = { temperature: 0.7, top_p: 0.9 };
  const { agent, simulator } = await simulatedAgent({ model: "claude-3-5-haiku-latest", api_kwargs });
  expect(await agent.run(scripted("Warm", [{ text: "Hello" }]))).toMatchObject({ stopReason: "end_turn", error: null });
  expect(bodies(simulator)[0]).toMatchObject({ temperature: 0.7, top_p: 0.9 });
  expect(simulator.ledger.calls()[0]?.headers["anthropic-version"]).toBe("2023-06-01");
});

test("if a model rejects temperature together with top_p, the run fails without a retry, and another model can continue", async () => {
  const api_kwargs = { temperature: 0.7, top_p: 0.9 };
  const { agent, simulator } = await simulatedAgent({ model: "claude-sonnet-4-5", api_kwargs });
  const { sessionId, error } = await agent.run(scripted("Warm", [{ text: "Hello" }]));
  expect(error).toMatchObject({ code: "invalid_request_error", status: 400 });
  expect(error?.message).toContain("cannot both be specified");
  expect(simulator.ledger.calls()).toHaveLength(1);
  const next = await agent.run(scripted("Again", [{ text: "Hello" }]), { sessionId, model: "claude-3-5-haiku-latest" });
  expect(next).toMatchObject({ finalAnswer: "Hello", model: "claude-3-5-haiku-latest", error: null });
});

test.each([
  [{ temperature: 0.5 }, "temperature"],
  [{ top_k: 5 }, "top_k"],
  [{ top_p: 0.5 }, "top_p"],
])("%j together with thinking_tokens is rejected before it can fail a run", (api_kwargs, name) => {
  expect(() => createAgent({ thinking_tokens: 2000, api_kwargs })).toThrow(`api_kwargs.${name}`);
  expect(() => createAgent({ thinking_tokens: 2000, api_kwargs: { temperature: 1, top_p: 0.95 } })).not.toThrow();
});

test("a request that the API rejects ends the run with the API's message", async () => {
  const { agent } = await simulatedAgent({ api_kwargs: { temperature: 7 } });
  const result = await agent.run(scripted("Too warm", [{ text: "Hello" }]));
  expect(result.stopReason).toBe("error");
  expect(result.error).toMatchObject({ code: "invalid_request_error" });
  expect(result.error?.message).toContain("temperature");
});

test("the option extras is kept in the session, and the title after the first answer adds to the run's usage", async () => {
  const { agent, simulator } = await simulatedAgent({ extras: { user_id: "user_123" }, generate_title: true });
  const result = await agent.run(scripted("Sort a list in Python", [{ text: "sorted(list)" }]));
  const sessions = await agent.sessions();
  expect((await sessions.state(result.sessionId)).agent?.extras).toEqual({ user_id: "user_123" });
  expect((await sessions.get(result.sessionId)).title).toBeTruthy();
  const calls = simulator.ledger.calls({ kind: "messages" });
  expect(calls).toHaveLength(2);
  expect(result.usage.input_tokens).toBe(calls.reduce((sum, { usage }) => sum + (usage?.input_tokens ?? 0), 0));
  await agent.run(scripted("More", [{ text: "No second title" }]), { sessionId: result.sessionId });
  expect(simulator.ledger.calls({ kind: "messages" })).toHaveLength(3);
});

test.each([
  ["formatter", { formatter: "XmlFormatter" }, { formatter: "xml" }],
  ["compactor_type", { compactor_type: "ToolResultRemovalCompactor" }, { compactor_type: "tool_result_removal" }],
  ["memory_store_type", { memory_store_type: "PlaceholderMemoryStore" }, { memory_store_type: "placeholder" }],
])("%s may be given as the class name of the agent tables", async (_, given, kept) => {
  const { agent } = await simulatedAgent(given);
  const { sessionId } = await agent.run(scripted("Names", [{ text: "Hello" }]));
  expect((await (await agent.sessions()).state(sessionId)).agent).toMatchObject(kept);
});

test("max_parallel_tool_calls is never exceeded, and results have the order of the calls", async () => {
  let now = 0;
  let most = 0;
  const slow = defineTool({
    name: "slow",
    description: "Takes its time.",
    input: z.object({ n: z.number() }),
    run: async ({ n }) => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setTimeout(resolve, 10 + (5 - n) * 5));
      now -= 1;
      return n;
    },
  });
  const { agent } = await simulatedAgent({ tools: [slow], max_parallel_tool_calls: 2 });
  const calls = [1, 2, 3, 4, 5].map((n) => ({ name: "slow", input: { n } }));
  const result = await agent.run(scripted("Parallel", [{ tools: calls }, { text: "Done" }]));
  expect(most).toBe(2);
  const results = result.conversationHistory[2]?.content as unknown as { content: string }[];
  expect(results.map(({ content }) => content)).toEqual(["1", "2", "3", "4", "5"]);
});

test("prompt-cache breakpoints: a session of several turns reads its prefix from the cache", async () => {
  const { agent, simulator } = await simulatedAgent({ system_prompt: "You are careful. ".repeat(400), tools: [look] });
  let sessionId: string | undefined;
  for (let turn = 1; turn <= 6; turn++) {
    const prompt = scripted(`Turn ${turn} ${"words ".repeat(300)}`, [
      { tools: [{ name: "look", input: { at: "x".repeat(3000) } }] },
      { text: "Done ".repeat(100) },
    ]);
    const result = await agent.run(prompt, sessionId === undefined ? {} : { sessionId });
    expect(result.error).toBeNull();
    ({ sessionId } = result);
  }
  const usages = simulator.ledger.calls({ kind: "messages" }).map(({ usage }) => usage);
  for (const [index, usage] of usages.entries()) {
    if (index === 0 || !usage) continue;
    const before = usages[index - 1];
    const known = (before?.cache_read_input_tokens ?? 0) + (before?.cache_creation_input_tokens ?? 0);
    expect(usage.cache_read_input_tokens, `call ${index + 1} reads what call ${index} wrote`).toBe(known);
    // Everything but the new words is read from the cache or written to it.
    expect(usage.input_tokens).toBeLessThan(50);
  }
});
