/** Hooks can watch, change or reject model calls and tool calls. The log records what hooks change or reject. */
import { callAt } from "../../core/src/loop/request.ts";
import type { Event } from "@skein/protocol";
import { type Hooks, createAgent, defineTool } from "skein";
import { expect, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "../../core/test/loop/simulated.ts";

const ran: unknown[] = [];
const add = defineTool({
  name: "add",
  description: "Adds.",
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => {
    ran.push([a, b]);
    return a + b;
  },
});
const SUM = [{ tools: [{ name: "add", input: { a: 1, b: 2 } }] }, { text: "It is $LAST." }];

async function ask(hooks: Hooks, steps: readonly object[] = SUM, more: { tools?: readonly (typeof add)[] } = {}) {
  ran.length = 0;
  const { agent, simulator } = await simulatedAgent({ tools: [add], hooks, system_prompt: "Add.", ...more });
  const events: Event[] = [];
  const prompt = scripted("Sum", steps);
  const result = await agent.run(prompt, { onEvent: (event) => void events.push(event) });
  const hooked = events.flatMap((event) => (event.event_type === "hook.called" ? [event.data] : []));
  const types = events.map(({ event_type }) => event_type);
  const requests = simulator.ledger.calls().map(({ request }) => request as Record<string, unknown>);
  return { agent, result, hooked, types, requests, events };
}

test("hooks that return nothing see each call once, and add nothing to the log", async () => {
  const seen: string[] = [];
  const { result, hooked, types } = await ask({
    beforeModelCall: ({ turns }, { signal }) => void seen.push(`model ${turns.length} ${signal.aborted}`),
    afterModelCall: async ({ content }) => void seen.push(`answer ${content.length}`),
    beforeToolCall: ({ name, input }) => void seen.push(`${name} ${JSON.stringify(input)}`),
    afterToolCall: ({ content, isError }) => void seen.push(`result ${JSON.stringify(content)} ${isError}`),
  });
  expect(result.finalAnswer).toBe("It is 3.");
  expect(seen).toEqual([
    "model 1 false",
    "answer 1",
    'add {"a":1,"b":2}',
    'result "3" false',
    "model 3 false",
    "answer 1",
  ]);
  expect(hooked).toEqual([]);
  expect(types).toEqual((await ask({})).types);
});

test("a hook changes the system prompt for one step, and the log has the changed prompt", async () => {
  let steps = 0;
  const { agent, result, hooked, requests, events } = await ask({
    beforeModelCall: () => (++steps === 1 ? { system: "Add with care.", maxTokens: 77 } : undefined),
  });
  expect(requests.map(({ system, max_tokens }) => [JSON.stringify(system), max_tokens])).toEqual([
    [expect.stringContaining("Add with care."), 77],
    [expect.stringContaining('"Add."'), 2048],
  ]);
  expect(hooked).toMatchObject([
    { hook_event: "before_model_call", modified_input: { system: "Add with care.", max_tokens: 77 } },
  ]);
  const started = events.find(({ event_type }) => event_type === "step.started");
  const log = await (await agent.sessions()).events(result.sessionId);
  expect(callAt(result.sessionId, log, started?.sequence ?? 0)?.system).toBe("Add with care.");
});

test("a hook changes an answer before anybody reads it", async () => {
  const { result, hooked, requests } = await ask(
    { afterModelCall: () => ({ content: [{ type: "text", text: "Redacted." }] }) },
    [{ text: "The password is 1234." }],
  );
  expect(result.finalAnswer).toBe("Redacted.");
  expect(hooked).toMatchObject([{ hook_event: "after_model_call", decision: "allow" }]);
  expect(requests).toHaveLength(1);
});

test.each([
  ["before it is sent", { beforeModelCall: () => ({ refuse: "Not today." }) }, 0],
  ["after its answer", { afterModelCall: () => ({ refuse: "Not today." }) }, 1],
  ["by throwing an error before it is sent", { beforeModelCall: () => Promise.reject(new Error("Not today.")) }, 0],
] as const)(
  "a hook rejects a model call %s: the run fails with the hook's message, and the tokens of an answered call are counted",
  async (_, hooks, calls) => {
    const { result, requests } = await ask(hooks);
    expect(result.error).toMatchObject({ code: "hook_refused", message: expect.stringContaining("Not today.") });
    expect(requests).toHaveLength(calls);
    expect(result.usage.output_tokens > 0).toBe(calls > 0);
  },
);

test("a hook changes the input of a tool call and its result, and the model reads that the input was changed", async () => {
  const { result, hooked, requests } = await ask({
    beforeToolCall: () => ({ input: { a: 10, b: 20 } }),
    afterToolCall: ({ content }) => ({ content: `${JSON.stringify(content)} apples` }),
  });
  expect(ran).toEqual([[10, 20]]);
  expect(result.finalAnswer).toContain('"30" apples');
  expect(JSON.stringify(requests.at(-1))).toContain("its input was changed");
  expect(hooked.map(({ hook_event, modified_input }) => [hook_event, modified_input])).toEqual([
    ["before_tool_call", { a: 10, b: 20 }],
    ["after_tool_call", null],
  ]);
});

test("an input from a hook is rejected if it does not fit the tool's schema", async () => {
  const { result } = await ask({ beforeToolCall: () => ({ input: { a: "x" } }) });
  expect(ran).toEqual([]);
  expect(result.finalAnswer).toContain("does not fit the tool's schema");
});

test.each([
  ["refuses", () => ({ refuse: "No sums on Sundays." })],
  ["fails", () => Promise.reject(new Error("No sums on Sundays."))],
] as const)("if a hook %s before a tool call, the tool does not run, and the model reads why", async (_, hook) => {
  const { result } = await ask({ beforeToolCall: hook });
  expect(ran).toEqual([]);
  expect(result.finalAnswer).toContain("No sums on Sundays.");
});

test("if a hook rejects the result of a tool, the model reads the reason instead of the result", async () => {
  const { result } = await ask({ afterToolCall: () => ({ refuse: "Too secret." }) });
  expect(ran).toHaveLength(1);
  expect(result.finalAnswer).toBe("It is Too secret..");
});

test("a hook asks a person, and the call runs after the person allows it", async () => {
  let asked = 0;
  const hooks = { beforeToolCall: () => (asked++, { ask: true as const }) };
  const { agent, result } = await ask(hooks);
  expect(result.awaiting).toMatchObject([{ kind: "approval", name: "add" }]);
  const toolUseId = result.awaiting[0]?.tool_use_id ?? "";
  const done = await agent.answer(result.sessionId, [{ toolUseId, content: "yes" }]);
  expect(done.finalAnswer).toBe("It is 3.");
  expect(asked).toBe(1);
});

test.each([
  ["without changes: the hook sees the input once", "yes", [{ a: 1, b: 2 }], "3"],
  [
    "with another input: the hook sees both inputs",
    JSON.stringify({ behavior: "allow", updatedInput: { a: 5, b: 6 } }),
    [
      { a: 1, b: 2 },
      { a: 5, b: 6 },
    ],
    "11",
  ],
])("a person approves a call %s", async (_, content, inputs, answer) => {
  const seen: unknown[] = [];
  const hooks = { beforeToolCall: ({ input }: { input: unknown }) => void seen.push(input) };
  const guarded = defineTool({
    name: "add",
    description: "Adds.",
    input: z.object({ a: z.number(), b: z.number() }),
    needsApproval: true,
    run: ({ a, b }) => a + b,
  });
  const { agent, result } = await ask(hooks, SUM, { tools: [guarded] });
  const toolUseId = result.awaiting[0]?.tool_use_id ?? "";
  const done = await agent.answer(result.sessionId, [{ toolUseId, content }]);
  expect(done.finalAnswer).toContain(answer);
  expect(seen).toEqual(inputs);
});

test.each([
  ["says yes: the call waits", async () => true, true],
  ["says no: the call runs", async () => false, false],
  ["fails: the call waits", () => Promise.reject(new Error("unreachable")), true],
])("an asynchronous needsApproval %s", async (_, needsApproval, waits) => {
  let asked = 0;
  const guarded = defineTool({
    name: "add",
    description: "Adds.",
    input: z.object({ a: z.number(), b: z.number() }),
    needsApproval: (input) => (expect(input).toEqual({ a: 1, b: 2 }), asked++, needsApproval()),
    run: ({ a, b }) => a + b,
  });
  const { agent, result } = await ask({}, SUM, { tools: [guarded] });
  expect(result.awaiting).toHaveLength(waits ? 1 : 0);
  expect(asked).toBe(1);
  const [open] = result.awaiting;
  const done = open ? await agent.answer(result.sessionId, [{ toolUseId: open.tool_use_id, content: "yes" }]) : result;
  expect(done.finalAnswer).toBe("It is 3.");
});

test("if a run is cancelled while a hook waits, the hook's signal aborts and the run ends", async () => {
  const stop = new AbortController();
  const { agent } = await simulatedAgent({
    hooks: {
      beforeModelCall: async (_, { signal }) => {
        setTimeout(() => stop.abort(), 10);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    },
  });
  expect((await agent.run("Hi", { signal: stop.signal })).stopReason).toBe("cancelled");
});

test("an invalid hook is rejected", () => {
  expect(() => createAgent({ hooks: { beforeTool: () => {} } as never })).toThrow('There is no hook "beforeTool"');
  expect(() => createAgent({ hooks: { afterToolCall: true } as never })).toThrow("must be a function");
});
