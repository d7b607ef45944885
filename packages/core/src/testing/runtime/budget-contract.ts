import { type Event, NO_USAGE, type Usage, addUsage, priceCall } from "@skein/protocol";
import { expect, test } from "vitest";
import { withReason } from "../bench.ts";
import { type Prompted, type RuntimeBench, only } from "./bench.ts";
import type { ModelStep, RuntimeExceptions } from "./under-test.ts";

/** A model that the price list does not have. */
const UNPRICED = "claude-opus-9-9";

/** What a run and a session may cost. */
export function describeBudgets(bench: () => RuntimeBench, cannot: RuntimeExceptions): void {
  /** The model asks for one effect after the other, for ever. */
  const endless = (name: string): ModelStep => ({ text: "On and on.", tools: [bench().under.calls.effect(name)] });

  async function expectSpent(prompted: Prompted) {
    const events = await bench().ended(prompted);
    expect(only(events, "session.failed")[0]?.data).toMatchObject({ outcome: "failed", stop_reason: "budget" });
    await bench().sound(prompted);
    return events;
  }

  /** The last call began while there was money. */
  function expectNoCallAfter(maxCostMicros: number, events: readonly Event[]): void {
    const costs = only(events, "step.generated").map(({ data }) => data.cost?.total_micros ?? 0);
    expect(costs.slice(0, -1).reduce((sum, cost) => sum + cost, 0)).toBeLessThan(maxCostMicros);
  }

  /** What one short answer costs in this session at most: without the model's cache. */
  async function priceOfAnswer(sessionId: string): Promise<number> {
    const prompted = await bench().prompt(sessionId, [{ text: "Short." }]);
    const [step] = only(await bench().ended(prompted), "step.generated");
    const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = addUsage(
      NO_USAGE,
      step?.data.usage as Usage,
    );
    const sent = input_tokens + cache_creation_input_tokens + cache_read_input_tokens;
    const price = priceCall(step?.data.model ?? "", { input_tokens: sent, output_tokens })?.total_micros ?? 0;
    expect(price).toBeGreaterThan(0);
    return price;
  }

  test("a run ends when its money is spent, each call having its result; the next run has money of its own", async () => {
    const sessionId = await bench().session();
    const maxCostMicros = Math.ceil(1.3 * (await priceOfAnswer(sessionId)));
    const prompted = await bench().prompt(sessionId, [endless(bench().name())], { maxCostMicros });
    const events = await expectSpent(prompted);
    expect(only(events, "step.generated").length).toBeGreaterThan(1);
    expectNoCallAfter(maxCostMicros, events);
    expect(await bench().answer(await bench().prompt(prompted.sessionId, [{ text: "On." }]))).toBe("On.");
  });

  test.skipIf(cannot.spentBefore)(withReason("a run without any money makes no call", cannot.spentBefore), async () => {
    const prompted = await bench().run([{ text: "Never." }], { maxCostMicros: 0 });
    await expectSpent(prompted);
    expect(bench().under.asked(prompted.label)).toEqual([]);
  });

  test("a session has one limit over all its runs", async () => {
    const { under, host } = bench();
    const price = await priceOfAnswer((await host.sessions.create(under.agent({}))).id);
    // Writing to the model's cache costs a quarter more.
    const maxCostMicros = Math.ceil(1.5 * price);
    const { id } = await host.sessions.create(under.agent({ maxCostMicros }));
    expect(await bench().answer(await bench().prompt(id, [{ text: "Short." }]))).toBe("Short.");
    await expectSpent(await bench().prompt(id, [endless(bench().name())]));
    expectNoCallAfter(maxCostMicros, await host.sessions.events(id));
  });

  test.skipIf(cannot.spentBefore)(
    withReason("a session without any money makes no call", cannot.spentBefore),
    async () => {
      const prompted = await bench().run([{ text: "Never." }], { agent: { maxCostMicros: 0 } });
      await expectSpent(prompted);
      expect(bench().under.asked(prompted.label)).toEqual([]);
    },
  );

  test.skipIf(cannot.unpriced)(
    withReason("a model without a price is not asked where a limit was set, and is where none was", cannot.unpriced),
    async () => {
      const { under } = bench();
      const agent = { model: UNPRICED };
      const limited = await bench().run([{ text: "Never." }], { agent, maxCostMicros: 1_000_000 });
      const events = await expectSpent(limited);
      expect(only(events, "session.failed")[0]?.data.error.message).toContain(UNPRICED);
      expect(under.asked(limited.label)).toEqual([]);
      const free = await bench().prompt(limited.sessionId, [{ text: "Here." }]);
      expect(await bench().answer(free)).toBe("Here.");
      const [run] = (await free.host.sessions.runs(free.sessionId)).items;
      expect(run).toMatchObject({ cost_micros: 0, unpriced_calls: 1 });
    },
  );

  test.skipIf(cannot.subagentCost)(
    withReason("what a subagent spends comes out of the limit of the run that asked for it", cannot.subagentCost),
    async () => {
      const { under } = bench();
      const sessionId = await bench().session();
      const maxCostMicros = Math.ceil(1.5 * (await priceOfAnswer(sessionId)));
      const task = under.prompt([endless(bench().name())], bench().name());
      const steps = [{ tools: [under.calls.subagent(task)] }, { text: "Never." }];
      const prompted = await bench().prompt(sessionId, steps, { maxCostMicros });
      const events = await expectSpent(prompted);
      expect(only(events, "step.generated")).toHaveLength(1);
      expect(only(events, "tool.completed")).toHaveLength(1);
    },
  );
}
