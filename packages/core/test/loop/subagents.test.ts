import { createMemoryStore, createSubagents, derivedId } from "@skein/core";
import { createIds } from "@skein/protocol";
import { type AgentOptions, createAgent, defineTool } from "skein";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "./simulated.ts";
import { STORES, counting, eventsOf, expectUsable, pick, resultOf, storeUrl, until } from "./world.ts";

const reader = (options: AgentOptions = {}) => createAgent({ name: "Reader", description: "Reads.", ...options });
const hand = (prompt: string, id = "toolu_sub") => ({ name: "Reader", input: { prompt }, id });

describe.each(STORES)("on the %s store", (kind) => {
  test("an agent as a tool works in its own session, and its answer is the result of the call", async () => {
    const { tool, calls } = counting();
    const { agent } = await simulatedAgent({ subagents: [reader({ tools: [tool] })], store: storeUrl(kind) });
    const task = scripted("task", [{ tools: [{ name: "count" }] }, { text: "The child says $LAST" }]);
    const steps = [{ tools: [hand(task)] }, { text: "So: $LAST" }];
    const result = await agent.run(scripted(`parent ${kind}`, steps));
    expect(result.finalAnswer).toBe("So: The child says call 1");
    expect(calls).toHaveLength(1);
    const [opened] = await eventsOf(agent, result.sessionId, "await.opened");
    const childId = derivedId("subagent", result.sessionId, "toolu_sub");
    expect(opened?.data.awaits).toMatchObject([{ kind: "subagent", name: "Reader", session_id: childId }]);
    const sessions = await agent.sessions();
    expect(await sessions.get(childId)).toMatchObject({
      subagent_of_session_id: result.sessionId,
      subagent_of_tool_use_id: "toolu_sub",
      parent_session_id: null,
      outcome: "completed",
    });
    expect((await sessions.list({ subagentOfSessionId: result.sessionId })).items.map(({ id }) => id)).toEqual([
      childId,
    ]);
    const own = await sessions.events(childId);
    expect(own.every(({ session_id }) => session_id === childId)).toBe(true);
  });

  test("the results of several subagents have the order of the calls, even if the first subagent is slower", async () => {
    const { agent } = await simulatedAgent({ subagents: [reader()], store: storeUrl(kind) });
    const slow = scripted("slow", [{ text: "slow", delayMs: 150 }]);
    const quick = scripted("quick", [{ text: "quick" }]);
    const calls = [hand(slow, "toolu_a"), hand(quick, "toolu_b")];
    const result = await agent.run(scripted(`two ${kind}`, [{ tools: calls }, { text: "Done." }]));
    const results = result.conversationHistory[2]?.content as unknown as { content: string }[];
    expect(results.map(({ content }) => content)).toEqual(["slow", "quick"]);
  });

  test("subagents may have subagents", async () => {
    const middle = createAgent({ name: "Middle", subagents: [reader()] });
    const { agent } = await simulatedAgent({ subagents: [middle], store: storeUrl(kind) });
    const leaf = scripted("leaf", [{ text: "leaf" }]);
    const inner = scripted("inner", [{ tools: [hand(leaf)] }, { text: "inner of $LAST" }]);
    const steps = [{ tools: [{ name: "Middle", input: { prompt: inner } }] }, { text: "outer of $LAST" }];
    expect(await agent.run(scripted(`nested ${kind}`, steps))).toMatchObject({ finalAnswer: "outer of inner of leaf" });
  });

  test("the parent of a child that fails gets an error result, and continues", async () => {
    const { agent } = await simulatedAgent({ subagents: [reader()], store: storeUrl(kind) });
    const task = scripted("bad", [{ error: { status: 400, message: "no good" } }]);
    const result = await agent.run(scripted(`fails ${kind}`, [{ tools: [hand(task)] }, { text: "So: $LAST" }]));
    expect(result.finalAnswer).toContain("no good");
    expect(await resultOf(agent, result.sessionId, "toolu_sub")).toMatchObject({ is_error: true, outcome: "failed" });
    await expectUsable(agent, result.sessionId);
  });

  test("a child that waits for an answer makes its parent's run wait, and gets the answer through the parent", async () => {
    const { agent } = await simulatedAgent({ subagents: [reader({ tools: [pick] })], store: storeUrl(kind) });
    const call = { name: "pick", input: { of: ["red"] }, id: "toolu_pick" };
    const task = scripted("asks", [{ tools: [call] }, { text: "child: $LAST" }]);
    const paused = await agent.run(scripted(`waits ${kind}`, [{ tools: [hand(task)] }, { text: "parent: $LAST" }]));
    const child = derivedId("subagent", paused.sessionId, "toolu_sub");
    expect(paused).toMatchObject({
      stopReason: "awaiting_frontend_tools",
      awaiting: [{ session_id: child, tool_use_id: "toolu_pick", kind: "frontend_tool" }],
    });
    const end = await agent.answer(paused.sessionId, [{ toolUseId: "toolu_pick", content: "red" }]);
    expect(end).toMatchObject({ finalAnswer: "parent: child: red", runId: paused.runId });
  });

  test("a cancel of the parent also ends its children", async () => {
    const { agent, simulator } = await simulatedAgent({ subagents: [reader()], store: storeUrl(kind) });
    const task = scripted("endless", [{ text: "never", hang: true }]);
    const stop = new AbortController();
    const running = agent.run(scripted(`cancel ${kind}`, [{ tools: [hand(task)] }]), { signal: stop.signal });
    await until(() => simulator.ledger.calls({ outcome: "open" }).length);
    await until(() => simulator.ledger.calls().length === 2);
    stop.abort();
    const { sessionId } = await running;
    const child = derivedId("subagent", sessionId, "toolu_sub");
    const sessions = await agent.sessions();
    await until(async () => (await sessions.get(child)).outcome === "cancelled");
    await expectUsable(agent, sessionId);
  });

  test("a cancelled run ends only after its cancel has reached all nested subagents", async () => {
    const middle = createAgent({ name: "Middle", subagents: [reader()] });
    const { agent, simulator } = await simulatedAgent({ subagents: [middle], store: storeUrl(kind) });
    const leaf = scripted(`leaf ${kind}`, [{ text: "never", hang: true }]);
    const inner = scripted("inner", [{ tools: [hand(leaf)] }]);
    const steps = [{ tools: [{ name: "Middle", input: { prompt: inner } }] }];
    const stop = new AbortController();
    const running = agent.run(scripted(`deep ${kind}`, steps), { signal: stop.signal });
    await until(() => simulator.ledger.calls({ label: `leaf ${kind}`, outcome: "open" }).length);
    const sessions = await agent.sessions();
    stop.abort();
    expect(await running).toMatchObject({ stopReason: "cancelled" });
    const all = (await sessions.list()).items;
    expect(all.map(({ status, outcome }) => [status, outcome])).toEqual(all.map(() => ["idle", "cancelled"]));
    expect(all).toHaveLength(3);
  });

  test("a child that takes longer than its call allows is stopped", async () => {
    const hurried = defineTool({
      name: "ask_reader",
      description: "Asks the reader.",
      input: z.object({ prompt: z.string() }),
      executor: "subagent",
      subagent: "Reader",
      timeoutMs: 200,
    });
    const { agent } = await simulatedAgent({ tools: [hurried], subagents: [reader()], store: storeUrl(kind) });
    const prompt = scripted("slow", [{ text: "never", hang: true }]);
    const call = { name: "ask_reader", input: { prompt }, id: "toolu_sub" };
    const result = await agent.run(scripted(`hurry ${kind}`, [{ tools: [call] }, { text: "So: $LAST" }]));
    expect(result.finalAnswer).toBe("So: No result returned for this tool call.");
    const sessions = await agent.sessions();
    const child = derivedId("subagent", result.sessionId, "toolu_sub");
    await until(async () => (await sessions.get(child)).outcome === "cancelled");
  });

  test("a call of a subagent without a task gets an error that says so", async () => {
    const { agent } = await simulatedAgent({ subagents: [reader()], store: storeUrl(kind) });
    const call = { name: "Reader", input: {}, id: "toolu_sub" };
    const result = await agent.run(scripted(`empty ${kind}`, [{ tools: [call] }, { text: "So: $LAST" }]));
    expect(result.finalAnswer).toMatch(/prompt/);
    expect((await (await agent.sessions()).list()).items).toHaveLength(1);
  });
});

test("if a subagent is started twice for the same call, both starts get the same session with one prompt", async () => {
  const store = createMemoryStore();
  const ids = createIds();
  const { agent } = await simulatedAgent({ store });
  const { sessionId } = await agent.run("2+2");
  const sessions = await agent.sessions();
  const state = await sessions.state(sessionId);
  const config = state.agent as NonNullable<typeof state.agent>;
  const named = { id: ids(), version: 1, status: "active" as const, config };
  const start = () =>
    createSubagents({ store, agentNamed: () => named, now: Date.now, ids }).start({
      state,
      toolUseId: "toolu_sub",
      agent: "Reader",
      input: { prompt: "Read." },
      maxCostMicros: null,
    });
  const [first, second] = await Promise.all([start(), start()]);
  expect(first).toEqual(second);
  expect(first).toEqual({ sessionId: derivedId("subagent", sessionId, "toolu_sub") });
  expect(await eventsOf(agent, derivedId("subagent", sessionId, "toolu_sub"), "prompt.accepted")).toHaveLength(1);
});

describe("a child that is deleted while its parent waits for it", () => {
  const paused = async () => {
    const { agent } = await simulatedAgent({ subagents: [reader({ tools: [pick] })] });
    const task = scripted("task", [{ tools: [{ name: "pick", input: { of: [] } }] }, { text: "Never." }]);
    const result = await agent.run(scripted("parent", [{ tools: [hand(task)] }, { text: "So: $LAST" }]));
    const childId = result.awaiting[0]?.session_id ?? "";
    return { agent, sessionId: result.sessionId, childId, sessions: await agent.sessions() };
  };

  test("the parent of a deleted subagent gets an error result, and the cost of the subagent is counted", async () => {
    const { agent, sessionId, childId, sessions } = await paused();
    const spent = (await sessions.get(childId)).cost_picos;
    await sessions.delete(childId);
    const end = await agent.resume(sessionId);
    expect(end).toMatchObject({ finalAnswer: "So: The subagent's session was deleted.", error: null });
    expect((await sessions.state(sessionId)).delegatedPicos).toBe(spent);
  });

  test("a deleted subagent does not prevent the cancel of its parent", async () => {
    const store = createMemoryStore();
    const { agent } = await simulatedAgent({ store, subagents: [reader({ tools: [pick] })] });
    const task = scripted("task", [{ tools: [{ name: "pick", input: { of: [] } }] }, { text: "Never." }]);
    const { sessionId, awaiting } = await agent.run(scripted("parent", [{ tools: [hand(task)] }, { text: "Never." }]));
    await store.delete(awaiting[0]?.session_id ?? "");
    await (await agent.sessions()).cancel(sessionId);
    expect(await agent.resume(sessionId)).toMatchObject({ stopReason: "cancelled" });
    await expectUsable(agent, sessionId);
  });
});

test("the call of a subagent that has spent its budget fails", async () => {
  const { agent } = await simulatedAgent({ subagents: [reader({ max_cost_micros: 1 })] });
  const task = scripted("poor", [{ text: "never" }]);
  const result = await agent.run(scripted("budget", [{ tools: [hand(task)] }, { text: "So: $LAST" }]));
  expect(await resultOf(agent, result.sessionId, "toolu_sub")).toMatchObject({ is_error: true });
  expect(result.finalAnswer).toContain("budget");
});
