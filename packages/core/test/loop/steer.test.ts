import { defineTool } from "skein";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "./simulated.ts";
import { STORES, collected, eventsOf, expectUsable, pick, storeUrl, until } from "./world.ts";

/** A tool that ends when the test says so. */
function gate() {
  const opened = Promise.withResolvers<string>();
  let started = false;
  const tool = defineTool({
    name: "gate",
    description: "Waits.",
    input: z.object({}),
    run: () => {
      started = true;
      return opened.promise;
    },
  });
  return { tool, open: opened.resolve, started: () => started };
}

describe.each(STORES)("on the %s store", (kind) => {
  test("a resume of a session with a steering prompt returns the run that reads the prompt", async () => {
    const { tool, open, started } = gate();
    const { agent } = await simulatedAgent({ tools: [tool], store: storeUrl(kind) });
    const running = agent.run(scripted(`taken up ${kind}`, [{ tools: [{ name: "gate" }] }, { text: "Done." }]));
    await until(started);
    const sessionId = await onlySession(agent);
    await (await agent.sessions()).prompt(sessionId, { content: "In French, please.", mode: "steer" });
    const resumed = agent.resume(sessionId);
    const followed = collected(agent.follow(sessionId));
    await (await agent.sessions()).state(sessionId);
    open("opened");
    expect(await resumed).toMatchObject({ runId: (await running).runId, finalAnswer: "Done." });
    expect((await followed).at(-1)).toMatchObject({ event_type: "session.completed" });
  });

  test("a steering prompt that arrives while the last answer is written causes one more step", async () => {
    const { agent, simulator } = await simulatedAgent({ store: storeUrl(kind) });
    const running = agent.run(scripted(`late ${kind}`, [{ text: "First.", delayMs: 200 }, { text: "Second." }]));
    await until(() => simulator.ledger.calls({ outcome: "open" }).length);
    const sessionId = await onlySession(agent);
    await (await agent.sessions()).prompt(sessionId, { content: "And?", mode: "steer" });
    expect(await running).toMatchObject({ finalAnswer: "Second.", totalSteps: 2 });
  });

  test("an interrupting prompt cancels the run in progress and runs next", async () => {
    const { tool, started } = gate();
    const { agent } = await simulatedAgent({ tools: [tool], store: storeUrl(kind) });
    const running = agent.run(scripted(`interrupted ${kind}`, [{ tools: [{ name: "gate" }] }]));
    await until(started);
    const sessionId = await onlySession(agent);
    const queued = agent.run(scripted("queued", [{ text: "Queued." }]), { sessionId });
    await until(async () => (await eventsOf(agent, sessionId, "prompt.accepted")).length === 2);
    const asked = Date.now();
    const next = await agent.run(scripted("now", [{ text: "Now." }]), { sessionId, mode: "interrupt" });
    expect(next.finalAnswer).toBe("Now.");
    expect(Date.now() - asked).toBeLessThan(1000);
    expect(await running).toMatchObject({ stopReason: "cancelled" });
    expect(await queued).toMatchObject({ finalAnswer: "Queued." });
    const runs = (await (await agent.sessions()).runs(sessionId)).items.toReversed();
    expect(runs.map(({ outcome, id }) => [outcome, id === next.runId])).toEqual([
      ["cancelled", false],
      ["completed", true],
      ["completed", false],
    ]);
    await expectUsable(agent, sessionId);
  });
});

async function onlySession(agent: Awaited<ReturnType<typeof simulatedAgent>>["agent"]): Promise<string> {
  return (await (await agent.sessions()).list()).items[0]?.id ?? "";
}

test("the result of a steering prompt to a waiting run is the run's awaits, and the run reads the prompt after the answers", async () => {
  const { agent } = await simulatedAgent({ tools: [pick] });
  const call = { name: "pick", id: "toolu_1", input: { of: ["red"] } };
  const waiting = await agent.run(scripted("waits", [{ tools: [call] }, { text: "Never." }]));
  const { sessionId, runId } = waiting;
  const steering = await agent.run(scripted("steers", [{ text: "Steered." }]), { sessionId, mode: "steer" });
  expect(steering).toMatchObject({ stopReason: "awaiting_frontend_tools", runId, awaiting: waiting.awaiting });
  const end = await agent.answer(sessionId, [{ toolUseId: "toolu_1", content: "red" }]);
  expect(end).toMatchObject({ runId, finalAnswer: "Steered.", stopReason: "end_turn" });
});

test("a run that replaces an earlier run reads the steering prompts of the earlier run", async () => {
  const { tool, started } = gate();
  const { agent } = await simulatedAgent({ tools: [tool] });
  const first = agent.run(scripted("first", [{ tools: [{ name: "gate" }] }, { text: "Never." }]));
  await until(started);
  const sessionId = await onlySession(agent);
  await (await agent.sessions()).prompt(sessionId, { content: "By the way.", mode: "steer" });
  const next = await agent.run(scripted("instead", [{ text: "Instead." }]), { sessionId, mode: "interrupt" });
  expect(next).toMatchObject({ stopReason: "end_turn", finalAnswer: "Instead.", error: null });
  expect(JSON.stringify(next.conversationHistory)).toContain("By the way.");
  expect(await first).toMatchObject({ stopReason: "cancelled" });
});
