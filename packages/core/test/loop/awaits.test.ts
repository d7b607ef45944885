import { createSessions } from "@skein/core";
import { createIds } from "@skein/protocol";
import { type Tool, defineTool, openStore } from "skein";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "./simulated.ts";
import { STORES, counting, eventsOf, pick, resultOf, storeUrl, until } from "./world.ts";

const colours = { name: "pick", input: { of: ["red", "blue"] }, id: "toolu_pick" };
const nobody = "01890000-0000-7000-8000-0000000000ff";

describe.each(STORES)("on the %s store", (kind) => {
  const paused = async (label: string, tools: readonly Tool[] = [pick], calls: readonly object[] = [colours]) => {
    const { agent, simulator } = await simulatedAgent({ tools, store: storeUrl(kind) });
    const steps = [{ text: "Which?", tools: calls as [] }, { text: "You said $LAST" }];
    const result = await agent.run(scripted(`${label} ${kind}`, steps));
    return { agent, simulator, result, sessions: await agent.sessions() };
  };

  test("a frontend tool makes the run wait, and the run's result lists the call that waits", async () => {
    const { result, sessions } = await paused("frontend");
    expect(result).toMatchObject({ stopReason: "awaiting_frontend_tools", error: null, totalSteps: 1 });
    expect(result.awaiting).toMatchObject([
      { tool_use_id: "toolu_pick", kind: "frontend_tool", name: "pick", input: { of: ["red", "blue"] } },
    ]);
    expect(await sessions.get(result.sessionId)).toMatchObject({ status: "awaiting", run_id: result.runId });
  });

  test("after an answer, a run continues under the same id in the same log, and adds to its usage and cost", async () => {
    const { agent, result, simulator } = await paused("continues");
    const end = await agent.answer(result.sessionId, [{ toolUseId: "toolu_pick", content: "blue" }]);
    expect(end).toMatchObject({ runId: result.runId, finalAnswer: "You said blue", stopReason: "end_turn" });
    expect(end.answers).toMatchObject([{ toolUseId: "toolu_pick", disposition: "accepted" }]);
    expect(end.totalSteps).toBe(2);
    expect(end.usage).toEqual(simulator.ledger.totals().usage);
    expect(end.cost?.total_cost).toBeGreaterThan(result.cost?.total_cost ?? Number.POSITIVE_INFINITY);
    const actions = end.agentLogs.map(({ actionType }) => actionType);
    expect(actions.filter((action) => action === "run_started")).toHaveLength(1);
    expect(actions).toEqual(expect.arrayContaining(["awaiting_frontend_tools", "frontend_tools_completed"]));
    expect((await (await agent.sessions()).runs(result.sessionId)).items).toHaveLength(1);
  });

  test("an approval needs a yes: an empty answer is rejected, and any other word means no", async () => {
    const { tool, calls } = counting("deploy", { needsApproval: true });
    const { agent, result } = await paused("no-yes", [tool], [{ name: "deploy", id: "toolu_d" }]);
    const answer = (content: string) => agent.answer(result.sessionId, [{ toolUseId: "toolu_d", content }]);
    for (const nothing of ["", " \n"]) await expect(answer(nothing)).rejects.toMatchObject({ code: "invalid" });
    const end = await answer("deny");
    expect(end.finalAnswer).toBe("You said This call was not allowed. deny");
    expect(calls).toEqual([]);
  });

  test("a frontend tool that needs an approval waits for the approval, and then for its result", async () => {
    const both = defineTool({ ...toolOptions(pick), executor: "frontend", needsApproval: true });
    const { agent, result } = await paused("twice", [both]);
    expect(result.awaiting).toMatchObject([{ kind: "approval" }]);
    const second = await agent.answer(result.sessionId, [{ toolUseId: "toolu_pick", content: "yes" }]);
    expect(second.awaiting).toMatchObject([{ kind: "frontend_tool" }]);
    const end = await agent.answer(result.sessionId, [{ toolUseId: "toolu_pick", content: "red" }]);
    expect(end.finalAnswer).toBe("You said red");
  });

  test("if the check for approval throws, a person is asked, and the tool does not run before the answer", async () => {
    const fussy = counting("fussy", {
      needsApproval: () => {
        throw new TypeError("input.path is undefined");
      },
    });
    const { result } = await paused("fussy", [fussy.tool], [{ name: "fussy", id: "toolu_f" }]);
    expect(result.awaiting).toMatchObject([{ kind: "approval", name: "fussy" }]);
    expect(fussy.calls).toEqual([]);
  });

  test("the error about invalid input is sent to the model, and no person is asked", async () => {
    const { result, agent } = await paused("misfit", [pick], [{ ...colours, input: { of: "red" } }]);
    expect(result.stopReason).toBe("end_turn");
    expect(await resultOf(agent, result.sessionId, "toolu_pick")).toMatchObject({
      is_error: true,
      content: expect.stringContaining("does not fit"),
    });
  });

  test("a second answer is reported as a duplicate, and an answer to an unknown call as refused", async () => {
    const { agent, result, sessions } = await paused("dispositions");
    const { sessionId } = result;
    const answer = (id: string) => sessions.answer(sessionId, id, { content: "red" });
    expect(await answer("toolu_other")).toMatchObject({ disposition: "refused" });
    await expect(agent.answer(sessionId, [{ toolUseId: "toolu_other", content: "x" }])).rejects.toMatchObject({
      code: "not_awaiting",
    });
    await expect(sessions.answer(nobody, "toolu_pick", { content: "" })).rejects.toMatchObject({ code: "not_found" });
    expect(await answer("toolu_pick")).toMatchObject({ disposition: "accepted" });
    expect(await answer("toolu_pick")).toMatchObject({ disposition: "duplicate" });
    await agent.resume(sessionId);
    expect(await answer("toolu_pick")).toMatchObject({ disposition: "duplicate" });
    const late = await agent.answer(sessionId, [{ toolUseId: "toolu_pick", content: "late" }]);
    expect(late).toMatchObject({ finalAnswer: "You said red", answers: [{ disposition: "duplicate" }] });
  });

  test("an answer after a cancel is stale", async () => {
    const { agent, result, sessions } = await paused("stale");
    await sessions.cancel(result.sessionId);
    expect(await agent.resume(result.sessionId)).toMatchObject({ stopReason: "cancelled" });
    expect(await sessions.answer(result.sessionId, "toolu_pick", { content: "red" })).toMatchObject({
      disposition: "stale",
      reason: expect.stringContaining("cancelled"),
    });
  });

  test("if ten answers arrive at the same time, one is accepted, and the run continues once", async () => {
    const { agent, result, sessions, simulator } = await paused("race");
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => sessions.answer(result.sessionId, "toolu_pick", { content: `c${n}` })),
    );
    expect(answers.filter(({ disposition }) => disposition === "accepted")).toHaveLength(1);
    expect(answers.filter(({ disposition }) => disposition === "duplicate")).toHaveLength(9);
    const winner = answers.findIndex(({ disposition }) => disposition === "accepted");
    expect(await agent.resume(result.sessionId)).toMatchObject({ finalAnswer: `You said c${winner}` });
    expect(simulator.ledger.totals().calls).toBe(2);
  });

  test("if one of two calls is answered, the run still waits for the other", async () => {
    const two = [colours, { ...colours, id: "toolu_other" }];
    const { agent, result } = await paused("two", [pick], two);
    const half = await agent.answer(result.sessionId, [{ toolUseId: "toolu_other", content: "red" }]);
    expect(half.awaiting).toMatchObject([{ tool_use_id: "toolu_pick" }]);
    const end = await agent.answer(result.sessionId, [
      { toolUseId: "toolu_pick", content: "blue" },
      { toolUseId: "toolu_other", content: "green" },
      { toolUseId: "toolu_nobody", content: "?" },
    ]);
    expect(end.answers.map(({ disposition }) => disposition)).toEqual(["accepted", "duplicate", "refused"]);
    expect(end.stopReason).toBe("end_turn");
    expect(results(end.conversationHistory)).toEqual(["blue", "red"]);
  });

  test("a run with a slow tool and a frontend tool waits for the client after the slow tool is done", async () => {
    const slow = defineTool({
      name: "slow",
      description: "Slow.",
      input: z.object({}),
      run: () => new Promise((resolve) => setTimeout(resolve, 150, "done")),
    });
    const { result, agent } = await paused("beside", [pick, slow], [colours, { name: "slow", id: "toolu_slow" }]);
    expect(result.stopReason).toBe("awaiting_frontend_tools");
    expect(await eventsOf(agent, result.sessionId, "tool.completed")).toHaveLength(1);
  });

  test("a call that gets no answer within its time limit gets an error result, and the run continues", async () => {
    const hurried = defineTool({ ...toolOptions(pick), executor: "frontend", timeoutMs: 1500 });
    const { agent, result } = await paused("late", [hurried]);
    expect(Date.parse(result.awaiting[0]?.expires_at ?? "")).toBeGreaterThan(Date.now() - 1000);
    await until(async () => (await (await agent.sessions()).get(result.sessionId)).outcome);
    const end = await agent.resume(result.sessionId);
    expect(end.finalAnswer).toBe("You said No result returned for this tool call.");
    expect(await resultOf(agent, result.sessionId, "toolu_pick")).toMatchObject({ is_error: true, outcome: "failed" });
    expect(await (await agent.sessions()).answer(result.sessionId, "toolu_pick", { content: "" })).toMatchObject({
      disposition: "stale",
      reason: expect.stringContaining("time"),
    });
  });

  test("a prompt that is queued while the run waits gets its own run afterwards", async () => {
    const { agent, result } = await paused("queue");
    const next = agent.run(scripted("next", [{ text: "Next." }]), { sessionId: result.sessionId });
    const end = await agent.answer(result.sessionId, [{ toolUseId: "toolu_pick", content: "red" }]);
    expect(end.finalAnswer).toBe("You said red");
    expect(await next).toMatchObject({ stopReason: "end_turn", finalAnswer: "Next." });
    expect((await next).runId).not.toBe(end.runId);
  });

  test("a prompt that steers while the run waits is read by that run before its next step", async () => {
    const { agent, result } = await paused("steer");
    const steered = agent.run("Make it short.", { sessionId: result.sessionId, mode: "steer" });
    const end = await agent.answer(result.sessionId, [{ toolUseId: "toolu_pick", content: "red" }]);
    expect(end.conversationHistory.map(({ content }) => content)).toContain("Make it short.");
    expect((await steered).runId).toBe(result.runId);
  });

  test.each(["queue", "steer"] as const)(
    "resuming a waiting session returns its awaits, even if another prompt (%s) is in its queue",
    async (mode) => {
      const { agent, result } = await paused(`behind ${mode}`);
      const { sessionId } = result;
      await (await agent.sessions()).prompt(sessionId, { content: scripted("next", [{ text: "Next." }]), mode });
      expect(await agent.resume(sessionId)).toMatchObject({
        runId: result.runId,
        stopReason: "awaiting_frontend_tools",
        awaiting: [{ tool_use_id: "toolu_pick" }],
      });
      const going = agent
        .resume(sessionId)
        .then(() => agent.answer(sessionId, [{ toolUseId: "toolu_pick", content: "red" }]));
      expect(await going).toMatchObject({ runId: result.runId, stopReason: "end_turn" });
      expect(await agent.resume(sessionId)).toMatchObject({ finalAnswer: "Next." });
    },
  );

  test("a stream ends when its run waits, and its events contain the await", async () => {
    const { agent } = await simulatedAgent({ tools: [pick], store: storeUrl(kind) });
    const types: string[] = [];
    for await (const event of agent.stream(scripted(`stream ${kind}`, [{ tools: [colours] }])))
      types.push(event.event_type);
    expect(types.at(-1)).toBe("await.opened");
  });
});

test.each([
  ["was cancelled", false],
  ["was cancelled and another one is under way", true],
])("an answer is stale if its run %s while the answer is checked", async (_, another) => {
  const store = await openStore("memory:");
  const { agent } = await simulatedAgent({ tools: [pick], store });
  const call = (id: string) => [{ tools: [{ ...colours, id }] }, { text: "Done." }];
  const { sessionId } = await agent.run(scripted("just then", call("toolu_pick")));
  /** Cancels the run between the two reads of the store that an answer makes. */
  const meanwhile = async (): Promise<void> => {
    await (await agent.sessions()).cancel(sessionId);
    await agent.resume(sessionId);
    if (another) await agent.run(scripted("another", call("toolu_other")), { sessionId });
  };
  const awaits: typeof store.awaits = async (...which) => {
    const open = await store.awaits(...which);
    await meanwhile();
    return open;
  };
  const sessions = createSessions({ store: { ...store, awaits } });
  expect(await sessions.answer(sessionId, "toolu_pick", { content: "red" })).toMatchObject({ disposition: "stale" });
  expect(await eventsOf(agent, sessionId, "await.answered")).toEqual([]);
});

test("a run that waits for an answer does not delay the runs of other sessions", async () => {
  const { agent } = await simulatedAgent({ tools: [pick] });
  const waiting = await agent.run(scripted("first", [{ tools: [colours] }]));
  const other = await agent.run("How much is 2+2?");
  expect(other.finalAnswer).toContain("4");
  expect(await until(async () => (await agent.resume(waiting.sessionId)).awaiting.length)).toBe(1);
});

function toolOptions({ name, description, inputSchema }: typeof pick) {
  return { name, description, input: inputSchema };
}

function results(history: readonly { content: unknown }[]): readonly unknown[] {
  return history.flatMap(({ content }) =>
    Array.isArray(content) ? content.flatMap((block) => (block.type === "tool_result" ? [block.content] : [])) : [],
  );
}

test("after the time limit of an await, a resumed run continues without the answer, and later answers are stale", async () => {
  const hurried = defineTool({ ...toolOptions(pick), executor: "frontend", timeoutMs: 1500 });
  const store = storeUrl("sqlite");
  const first = await simulatedAgent({ name: "Hurried", tools: [hurried], store });
  const steps = [{ tools: [colours] }, { text: "You said $LAST" }];
  const { sessionId, runId, awaiting } = await first.agent.run(scripted("hurried", steps));
  await first.agent.close();
  await until(() => Date.now() > Date.parse(awaiting[0]?.expires_at ?? ""));
  // No process runs the session now, but the time limit still applies.
  const opened = await openStore(store);
  const sessions = createSessions({ store: opened, tenant: "default", now: Date.now, ids: createIds() });
  expect(await sessions.answer(sessionId, "toolu_pick", { content: "red" })).toMatchObject({ disposition: "stale" });
  await opened.close();
  const { agent } = await simulatedAgent({ name: "Hurried", tools: [hurried], store });
  expect(await agent.resume(sessionId)).toMatchObject({
    runId,
    stopReason: "end_turn",
    finalAnswer: "You said No result returned for this tool call.",
  });
});
