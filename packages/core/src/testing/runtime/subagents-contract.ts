import { type Usage, priceCall } from "@skein/protocol";
import { expect, test } from "vitest";
import { type RuntimeBench, only, until } from "./bench.ts";

/** Agents that work for a call of another one. */
export function describeSubagents(bench: () => RuntimeBench): void {
  test("a subagent's answer is the result of the call, its words stay out of the transcript, and its cost is counted", async () => {
    const { under, host, name } = bench();
    const sessionId = await bench().session();
    const before = await host.sessions.state(sessionId);
    const [effect, label] = [name(), name()];
    const task = under.prompt(
      [{ text: "Looking.", tools: [under.calls.effect(effect)] }, { text: "Found it." }],
      label,
    );
    const prompted = await bench().prompt(sessionId, [{ tools: [under.calls.subagent(task)] }, { text: "So: $LAST" }]);
    expect(await bench().answer(prompted)).toContain("Found it.");
    expect(under.effects(effect)).toBe(1);
    const after = await host.sessions.state(sessionId);
    const said = JSON.stringify(after.transcript.slice(before.transcript.length));
    expect(said).not.toContain("Looking.");
    expect(after.transcript.length - before.transcript.length).toBe(4);

    const billed = [prompted.label, label].flatMap(under.asked);
    expect(billed.map(({ outcome }) => outcome)).toEqual(["answered", "answered", "answered", "answered"]);
    const cost = billed.reduce((sum, { model, usage }) => {
      return sum + (priceCall(model ?? "", usage as Usage)?.total_micros ?? Number.NaN);
    }, 0);
    const spent = (state: typeof after): number => state.costMicros + state.delegatedMicros;
    expect(spent(after) - spent(before)).toBe(cost);
    await bench().sound(prompted);
  });

  test("a subagent that the model's API refuses is an error result of the call, and the run goes on", async () => {
    const { under, name } = bench();
    const task = under.prompt([{ error: { status: 400, message: "No good." } }], name());
    const prompted = await bench().run([{ tools: [under.calls.subagent(task)] }, { text: "Then without." }]);
    expect(await bench().answer(prompted)).toBe("Then without.");
    expect(only(await bench().ended(prompted), "tool.completed")).toHaveLength(1);
    await bench().sound(prompted);
  });

  test("a cancel of the run also ends its subagent", async () => {
    const { under, host, name } = bench();
    const label = name();
    const task = under.prompt([{ text: "Never.", hang: true }], label);
    const prompted = await bench().run([{ tools: [under.calls.subagent(task)] }, { text: "Never." }]);
    await until(() => under.asked(label).length > 0);
    await host.sessions.cancel(prompted.sessionId);
    const [failed] = only(await bench().ended(prompted), "session.failed");
    expect(failed?.data.outcome).toBe("cancelled");
    await until(() => under.asked(label).every(({ outcome }) => outcome === "aborted"));
    expect(await bench().answer(await bench().prompt(prompted.sessionId, [{ text: "Next." }]))).toBe("Next.");
    await bench().sound(prompted);
  });
}
