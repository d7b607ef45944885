import { type Event, priceCall } from "@skein/protocol";
import { expect, test } from "vitest";
import { withReason } from "../store-fixture.ts";
import { type Prompted, type RuntimeFixture, only } from "./runtime-fixture.ts";
import type { ModelStep, RuntimeExceptions } from "./runtime-under-test.ts";

/** A model that the price list does not have. */
const UNPRICED = "claude-opus-9-9";

/** The tokens of the expensive steps in these tests: far more than the tokens of all other steps. */
const DEAR = 40_000;

/** Tests the cost limits of runs and sessions. */
export function describeBudgets(fixture: () => RuntimeFixture, cannot: RuntimeExceptions): void {
  const price = (usage: { readonly input_tokens: number; readonly output_tokens: number }): number =>
    priceCall(fixture().under.agent({}).config.model, usage)?.total_micros ?? Number.NaN;
  const dear = (): number => price({ input_tokens: 0, output_tokens: DEAR });

  /** The model makes one tool call after the other, and each of its answers is expensive. */
  const spending = (usage: NonNullable<ModelStep["usage"]> = { output_tokens: DEAR }): readonly ModelStep[] => {
    const step = { text: "On and on.", tools: [fixture().under.calls.effect(fixture().name())], usage };
    return [step, step, step, step, step, { text: "All is done." }];
  };

  async function expectSpent(prompted: Prompted): Promise<readonly Event[]> {
    const events = await fixture().ended(prompted);
    expect(only(events, "session.failed")[0]?.data).toMatchObject({ outcome: "failed", stop_reason: "budget" });
    await fixture().sound(prompted);
    return events;
  }

  /** Checks that the run failed before a request to the model. */
  async function expectNotAsked(prompted: Prompted): Promise<void> {
    const [failed] = only(await expectSpent(prompted), "session.failed");
    expect(failed?.data.cost_micros).toBe(0);
    expect(fixture().under.asked(prompted.label)).toEqual([]);
  }

  test("a run whose budget is spent ends with a result for each tool call, and a next run without a budget is answered", async () => {
    const prompted = await fixture().run(spending(), { maxCostMicros: Math.ceil(2.5 * dear()) });
    const events = await expectSpent(prompted);
    expect(only(events, "step.generated")).toHaveLength(3);
    expect(only(events, "tool.completed")).toHaveLength(3);
    expect(await fixture().answer(await fixture().prompt(prompted.sessionId, [{ text: "On." }]))).toBe("On.");
  });

  test("a session has one limit over all its runs", async () => {
    const sessionId = await fixture().session({ maxCostMicros: Math.ceil(2.5 * dear()) });
    const first = await fixture().prompt(sessionId, [{ text: "Dear.", usage: { output_tokens: DEAR } }]);
    expect(await fixture().answer(first)).toBe("Dear.");
    const events = await expectSpent(await fixture().prompt(sessionId, spending()));
    expect(only(events, "step.generated")).toHaveLength(2);
  });

  test.skipIf(cannot.spentBefore)(
    withReason("a run with a budget of zero makes no model call", cannot.spentBefore),
    async () => {
      await expectNotAsked(await fixture().run([{ text: "Never." }], { maxCostMicros: 0 }));
    },
  );

  test.skipIf(cannot.spentBefore)(
    withReason("a session whose budget is spent makes no model call in its next run", cannot.spentBefore),
    async () => {
      const sessionId = await fixture().session({ maxCostMicros: Math.ceil(0.9 * dear()) });
      const first = await fixture().prompt(sessionId, [{ text: "Dear.", usage: { output_tokens: DEAR } }]);
      expect(await fixture().answer(first)).toBe("Dear.");
      await expectNotAsked(await fixture().prompt(sessionId, [{ text: "Never." }]));
    },
  );

  test.skipIf(cannot.unpriced)(
    withReason("a model without a price is called only in a run without a cost limit", cannot.unpriced),
    async () => {
      const limited = await fixture().run([{ text: "Never." }], {
        agent: { model: UNPRICED },
        maxCostMicros: 1_000_000,
      });
      await expectNotAsked(limited);
      const [failed] = only(await fixture().ended(limited), "session.failed");
      expect(failed?.data.error.message).toContain(UNPRICED);
      const free = await fixture().prompt(limited.sessionId, [{ text: "Here." }]);
      expect(await fixture().answer(free)).toBe("Here.");
      const [run] = (await free.host.sessions.runs(free.sessionId)).items;
      expect(run).toMatchObject({ cost_micros: 0, unpriced_calls: 1 });
    },
  );

  test.skipIf(cannot.subagentCost)(
    withReason("the spending of a subagent counts against the limit of the run that asked for it", cannot.subagentCost),
    async () => {
      const { under, name } = fixture();
      const task = under.prompt(spending({ input_tokens: DEAR }), name());
      const maxCostMicros = Math.floor(0.9 * price({ input_tokens: DEAR, output_tokens: 0 }));
      const prompted = await fixture().run([{ tools: [under.calls.subagent(task)] }, { text: "Never." }], {
        maxCostMicros,
      });
      const events = await expectSpent(prompted);
      expect(only(events, "step.generated")).toHaveLength(1);
      expect(only(events, "tool.completed")).toHaveLength(1);
    },
  );
}
