import { priceCall } from "@skein/protocol";
import { type Agent, createAgent } from "skein";
import { describe, expect, test } from "vitest";
import { scripted, simulatedAgent } from "./simulated.ts";
import { STORES, counting, eventsOf, storeUrl } from "./world.ts";

const model = "claude-sonnet-5-5";
const outputPrice = (tokens: number): number =>
  priceCall(model, { input_tokens: 0, output_tokens: tokens })?.total_micros ?? 0;
const picosOf = (usage: Parameters<typeof priceCall>[1] | null | undefined): bigint =>
  BigInt((usage && priceCall(model, usage)?.picos?.total) ?? 0);

test("a model without a price is called only if no limit is set", async () => {
  const { agent, simulator } = await simulatedAgent({ model: "claude-opus-9-9" });
  const limited = await agent.run(scripted("limited", [{ text: "Hi." }]), { maxCostMicros: 1_000_000 });
  expect(limited).toMatchObject({ stopReason: "budget", error: { code: "budget_exceeded" } });
  expect(limited.error?.message).toMatch(/claude-opus-9-9 has no price/);
  expect(simulator.ledger.calls()).toEqual([]);
  expect(await agent.run(scripted("free", [{ text: "Hi." }]))).toMatchObject({ finalAnswer: "Hi.", cost: null });
});

test("after the budget is spent, the model writes neither a title nor a summary", async () => {
  const maxCostMicros = outputPrice(110);
  const { agent, simulator } = await simulatedAgent({ model, generate_title: true, max_tokens: 100 });
  const long = scripted("long", [{ text: "z".repeat(400) }]);
  expect(await agent.run(long, { maxCostMicros })).toMatchObject({ error: null });
  expect(simulator.ledger.calls({ kind: "messages" })).toHaveLength(1);

  const summarising = { compactor_type: "summarize", compaction_threshold: 50 } as const;
  const { agent: other, simulator: asked } = await simulatedAgent({ model, max_tokens: 100, ...summarising });
  const broke = await other.run(scripted("summary", [{ text: "Short." }]) + " word".repeat(200), { maxCostMicros: 1 });
  expect(broke).toMatchObject({ stopReason: "budget", error: { code: "budget_exceeded" } });
  expect(asked.ledger.calls({ kind: "messages" })).toEqual([]);
});

describe.each(STORES)("on the %s store", (kind) => {
  const endless = [{ text: "x".repeat(400), tools: [{ name: "count" }] }];

  test("an answer may have only as many tokens as the remaining budget pays for", async () => {
    const { agent, simulator } = await simulatedAgent({ store: storeUrl(kind), model, max_tokens: 4096 });
    const maxCostMicros = outputPrice(500);
    await agent.run(scripted(`clamp ${kind}`, [{ text: "Short." }]), { maxCostMicros });
    const [call] = simulator.ledger.calls();
    const sent = Number((call?.request as Record<string, unknown> | undefined)?.["max_tokens"]);
    expect(sent).toBeLessThan(500);
    expect(sent).toBeGreaterThan(300);
  });

  test("the cost of subagents counts against the caller's budget, and a subagent can spend only the rest of it", async () => {
    const { tool } = counting();
    const spender = createAgent({ name: "Spender", model, max_tokens: 200, tools: [tool] });
    const { agent } = await simulatedAgent({ subagents: [spender], store: storeUrl(kind), model, max_tokens: 50 });
    const maxCostMicros = outputPrice(900);
    const hands = ["toolu_a", "toolu_b"].map((id) => ({
      name: "Spender",
      input: { prompt: scripted(`spend ${id}`, endless) },
      id,
    }));
    const steps = [{ tools: hands }, { text: "This would have been the answer." }];
    const result = await agent.run(scripted(`parent ${kind}`, steps), { maxCostMicros });
    expect(result).toMatchObject({ stopReason: "budget", error: { code: "budget_exceeded" } });
    const sessions = await agent.sessions();
    const children = (await sessions.list({ subagentOfSessionId: result.sessionId })).items;
    const answers = await eventsOf(agent, result.sessionId, "await.answered");
    expect(new Set(answers.map(({ data }) => data.cost_micros))).toEqual(
      new Set(children.map(({ cost_micros }) => cost_micros)),
    );
    expect(children).toHaveLength(2);
    for (const { id, cost_micros } of children) {
      const [prompt] = await eventsOf(agent, id, "prompt.accepted");
      expect(prompt?.data.max_cost_micros).toBeLessThanOrEqual(maxCostMicros / 2);
      expect(cost_micros - (await lastCall(agent, id))).toBeLessThan(prompt?.data.max_cost_micros ?? 0);
    }
    const own = (await sessions.get(result.sessionId)).cost_micros - (await lastCall(agent, result.sessionId));
    const delegated = children.reduce((sum, { cost_micros }) => sum + cost_micros, 0);
    expect(delegated).toBeGreaterThan(0);
    expect(own).toBeLessThan(maxCostMicros - delegated);
  });
});

async function lastCall(agent: Agent, sessionId: string): Promise<number> {
  return (await eventsOf(agent, sessionId, "step.generated")).at(-1)?.data.cost?.total_micros ?? 0;
}

describe.each(STORES)("a lost answer counts as spent, on %s", (kind) => {
  test("an interrupted answer costs its reported usage and its text, and the rest stays reserved until the model's next answer", async () => {
    const { agent, simulator } = await simulatedAgent({ store: storeUrl(kind), base_delay: 0.01, max_tokens: 500 });
    const steps = [{ text: "Hello. ".repeat(50), cut: { afterBytes: 1500, times: 1 } }];
    const result = await agent.run(scripted("cut", steps));
    const [broken, whole] = simulator.ledger.calls();
    expect(result.error).toBeNull();
    const [retried] = await eventsOf(agent, result.sessionId, "step.retried");
    const lost = retried?.data.lost;
    expect(lost).toMatchObject({ estimated: true, usage: { input_tokens: broken?.usage?.input_tokens } });
    expect(lost?.usage.output_tokens).toBeGreaterThan(1);
    expect(lost?.usage.output_tokens).toBeLessThanOrEqual(broken?.usage?.output_tokens ?? 0);
    expect(result.usage.output_tokens).toBe((lost?.usage.output_tokens ?? 0) + (whole?.usage?.output_tokens ?? 0));
    expect(lost?.reserved_micros).toBe(outputPrice(500 - (lost?.usage.output_tokens ?? 0)));
    const session = await (await agent.sessions()).get(result.sessionId);
    const state = await (await agent.sessions()).state(result.sessionId);
    expect(session).toMatchObject({ cost_picos: state.costPicos, reserved_micros: 0, estimated_calls: 1 });
    expect(result.models[0]?.cost_picos).toBe(state.costPicos);
    expect(BigInt(state.costPicos)).toBe(picosOf(lost?.usage) + picosOf(whole?.usage));
  });

  test("repeated interrupted answers cannot exceed the budget", async () => {
    const { agent, simulator } = await simulatedAgent({ store: storeUrl(kind), base_delay: 0.01, max_tokens: 500 });
    const steps = [{ text: "Hello. ".repeat(50), cut: { afterBytes: 900 } }];
    const result = await agent.run(scripted("always cut", steps), { maxCostMicros: 2 * outputPrice(500) });
    expect(result).toMatchObject({ stopReason: "budget", error: { code: "budget_exceeded" } });
    expect(simulator.ledger.calls().length).toBeLessThan(4);
  });
});

test("the usage of an invalid answer counts for the run", async () => {
  const { agent, simulator } = await simulatedAgent({ base_delay: 0.01, max_retries: 1 });
  const twice = { name: "count", id: "toolu_1" };
  const { sessionId, usage, error } = await agent.run(scripted("twice", [{ tools: [twice, twice] }]));
  expect(error).toMatchObject({ code: "stream_broken" });
  const answered = simulator.ledger.calls().map((call) => call.usage?.output_tokens ?? 0);
  expect(answered).toHaveLength(2);
  expect(usage.output_tokens).toBe(answered.reduce((sum, tokens) => sum + tokens, 0));
  const [retried] = await eventsOf(agent, sessionId, "step.retried");
  expect(retried?.data.lost?.usage.output_tokens).toBe(answered[0]);
});
