import { type Usage, exactCost, priceCall } from "@skein/protocol";
import { expect, test } from "vitest";
import type { SessionState } from "../../log/state.ts";
import { withReason } from "../store-fixture.ts";
import { type RuntimeFixture, only, until } from "./runtime-fixture.ts";
import type { RuntimeExceptions } from "./runtime-under-test.ts";

export function describeSubagents(fixture: () => RuntimeFixture, cannot: RuntimeExceptions): void {
  /**
   * Starts a run whose subagent calls a tool with an effect and then answers. Also returns the session's state before
   * the run.
   */
  async function delegated() {
    const { under, host, name } = fixture();
    const sessionId = await fixture().session();
    const before = await host.sessions.state(sessionId);
    const [effect, label] = [name(), name()];
    const task = under.prompt(
      [{ text: "Looking.", tools: [under.calls.effect(effect)] }, { text: "Found it." }],
      label,
    );
    const prompted = await fixture().prompt(sessionId, [
      { tools: [under.calls.subagent(task)] },
      { text: "So: $LAST" },
    ]);
    const answer = await fixture().answer(prompted);
    return { prompted, answer, effect, label, before, after: await host.sessions.state(sessionId) };
  }

  const spent = ({ costPicos, delegatedPicos }: SessionState): bigint => BigInt(costPicos) + BigInt(delegatedPicos);

  test("a subagent's answer is the result of the call, and its messages are not in the transcript", async () => {
    const { prompted, answer, effect, before, after } = await delegated();
    expect(answer).toContain("Found it.");
    expect(fixture().under.effects(effect)).toBe(1);
    const said = after.transcript.slice(before.transcript.length);
    expect(said.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(JSON.stringify(said)).not.toContain("Looking.");
    const steps = only(await fixture().ended(prompted), "step.generated");
    const own = steps.reduce((sum, { data }) => sum + (data.cost ? exactCost(data.cost).total : 0n), 0n);
    expect(
      spent(after) - spent(before) > own,
      "the cost of the subagent is counted separately from the run's own cost",
    ).toBe(true);
    await fixture().sound(prompted);
  });

  test.skipIf(cannot.subagentUsage)(
    withReason("a session counts all that the model billed for its subagents", cannot.subagentUsage),
    async () => {
      const { prompted, label, before, after } = await delegated();
      const billed = [prompted.label, label].flatMap(fixture().under.asked);
      expect(billed.map(({ outcome }) => outcome)).toEqual(["answered", "answered", "answered", "answered"]);
      const costs = billed.flatMap(({ model, usage }) => priceCall(model ?? "", usage as Usage) ?? []);
      const exactly = costs.reduce((sum, cost) => sum + exactCost(cost).total, 0n);
      expect(spent(after) - spent(before)).toBe(exactly);
    },
  );

  test("if the model's API rejects a subagent's request, the call gets an error result and the run continues", async () => {
    const { under, name } = fixture();
    const task = under.prompt([{ error: { status: 400, message: "No good." } }], name());
    const prompted = await fixture().run([{ tools: [under.calls.subagent(task)] }, { text: "Then without." }]);
    expect(await fixture().answer(prompted)).toBe("Then without.");
    expect(only(await fixture().ended(prompted), "tool.completed")).toHaveLength(1);
    await fixture().sound(prompted);
  });

  test("a cancel of the run also ends its subagent", async () => {
    const { under, host, name } = fixture();
    const label = name();
    const task = under.prompt([{ text: "Never.", hang: true }], label);
    const prompted = await fixture().run([{ tools: [under.calls.subagent(task)] }, { text: "Never." }]);
    await until(() => under.asked(label).length > 0);
    await host.sessions.cancel(prompted.sessionId);
    const [failed] = only(await fixture().ended(prompted), "session.failed");
    expect(failed?.data.outcome).toBe("cancelled");
    await until(() => under.asked(label).every(({ outcome }) => outcome === "aborted"));
    expect(await fixture().answer(await fixture().prompt(prompted.sessionId, [{ text: "Next." }]))).toBe("Next.");
    await fixture().sound(prompted);
  });
}
