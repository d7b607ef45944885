import { Usage, priceCall, runLogs, textOf } from "@skein/protocol";
import { defineTool } from "skein";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "./simulated.ts";
import { STORES, counting, eventsOf, expectUsable, resultOf, storeUrl, until } from "./world.ts";

/** Creates a tool that runs until it is told to stop, and records the times of its start and its stop. */
function endless(policy: "once" | "repeatable" = "once") {
  const log: { started?: number; stopped?: number } = {};
  const tool = defineTool({
    name: "endless",
    description: "Never ends.",
    input: z.object({}),
    policy,
    run: (_, { signal }) => {
      log.started = Date.now();
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          log.stopped = Date.now();
          reject(new Error("stopped"));
        });
      });
    },
  });
  return { tool, log };
}

describe.each(STORES)("on the %s store", (kind) => {
  test("a cancel reaches a model call that waits for its answer, within a second", async () => {
    const { agent, simulator } = await simulatedAgent({ store: storeUrl(kind) });
    const stop = new AbortController();
    const running = agent.run(scripted(`hang ${kind}`, [{ text: "never", hang: true }]), { signal: stop.signal });
    await until(() => simulator.ledger.calls({ outcome: "open" }).length);
    const asked = Date.now();
    stop.abort();
    const result = await running;
    expect(Date.now() - asked).toBeLessThan(1000);
    expect(result).toMatchObject({ stopReason: "cancelled", error: { code: "cancelled" } });
    await until(() => simulator.ledger.calls({ outcome: "aborted" }).length);
    expect(await eventsOf(agent, result.sessionId, "step.abandoned")).toHaveLength(1);
    await expectUsable(agent, result.sessionId);
  });

  test("a model call that is abandoned before its first event has no known cost, and its largest possible cost is reserved", async () => {
    const { agent, simulator } = await simulatedAgent({
      store: storeUrl(kind),
      system_prompt: "Be careful. ".repeat(1000),
      tools: [endless().tool],
    });
    const stop = new AbortController();
    const running = agent.run(scripted(`dear ${kind}`, [{ text: "never", hang: true }]), { signal: stop.signal });
    await until(() => simulator.ledger.calls({ outcome: "open" }).length);
    stop.abort();
    const { sessionId, model } = await running;
    const [asked] = await until(() => {
      const calls = simulator.ledger.calls({ outcome: "aborted" });
      return calls.length > 0 ? calls : undefined;
    });
    const [lost] = await eventsOf(agent, sessionId, "step.abandoned");
    const most = priceCall(model, { ...Usage.parse(asked?.usage), output_tokens: 2048 });
    expect(most?.cache_write_micros).toBeGreaterThan(1000);
    expect(lost?.data).toMatchObject({ usage: { input_tokens: 0, output_tokens: 0 }, estimated: true });
    expect(lost?.data.reserved_micros).toBeGreaterThanOrEqual(most?.total_micros ?? 0);
    const sessions = await agent.sessions();
    const reserved = { cost_micros: 0, estimated_calls: 1, reserved_micros: lost?.data.reserved_micros };
    expect(await sessions.get(sessionId)).toMatchObject({ ...reserved, unpriced_calls: 0 });
    expect((await sessions.runs(sessionId)).items[0]).toMatchObject({ ...reserved, cost: { total_cost: 0 } });
    expect((await sessions.usage({ by: "session" })).find(({ key }) => key === sessionId)).toMatchObject({
      cost_picos: "0",
      output_tokens: 0,
    });
    // The model's next answer in the session ends the reservation.
    expect(await agent.run(scripted(`after ${kind}`, [{ text: "Hi." }]), { sessionId })).toMatchObject({ error: null });
    expect(await sessions.get(sessionId)).toMatchObject({ reserved_micros: 0, reserved_until: null });
  });

  test("a cancel reaches a model call that is streaming, and the text that had arrived is kept", async () => {
    const { agent, simulator } = await simulatedAgent({ store: storeUrl(kind) });
    const stop = new AbortController();
    const steps = [{ text: "word ".repeat(200), chunk: 5, chunkDelayMs: 20 }];
    let drafts = 0;
    let sessionId = "";
    for await (const event of agent.stream(scripted(`stream ${kind}`, steps), { signal: stop.signal })) {
      if (event.event_type === "step.generating" && (drafts += 1) === 3) stop.abort();
      if (event.event_type === "session.failed") {
        sessionId = event.session_id;
        expect(event.data.stop_reason).toBe("cancelled");
      }
    }
    expect(drafts).toBeLessThan(100);
    const sessions = await agent.sessions();
    const answer = (await sessions.transcript(sessionId)).at(-1);
    expect(answer).toMatchObject({ role: "assistant", interrupted: true });
    expect(textOf(answer?.content ?? "")).toMatch(/^(word ){3}/);
    expect((await sessions.messages(sessionId)).items.at(-1)?.content).toMatchObject({ interrupted: true });
    const [call] = await until(() => {
      const calls = simulator.ledger.calls({ outcome: "aborted" });
      return calls.length > 0 ? calls : undefined;
    });
    const { usage } = await sessions.get(sessionId);
    expect(usage.input_tokens).toBe(call?.usage?.input_tokens);
    expect(usage.output_tokens).toBe(Math.floor(textOf(answer?.content ?? "").length / 4));
    expect(usage.output_tokens).toBeLessThan(call?.usage?.output_tokens ?? 0);
    const [run] = (await sessions.runs(sessionId)).items;
    const logs = runLogs(await sessions.events(sessionId), run?.id ?? "");
    expect(logs.filter(({ action_type }) => /error/.test(action_type))).toEqual([]);
    await expectUsable(agent, sessionId);
  });

  test.each(["once", "repeatable"] as const)(
    "a cancel stops running tools within a second, and the result of a %s tool says whether it may have taken effect",
    async (policy) => {
      const { tool, log } = endless(policy);
      const { agent } = await simulatedAgent({ tools: [tool], store: storeUrl(kind) });
      const calls = [
        { name: "endless", id: "toolu_1" },
        { name: "endless", id: "toolu_2" },
      ];
      const stop = new AbortController();
      const running = agent.run(scripted(`tools ${kind} ${policy}`, [{ tools: calls }]), { signal: stop.signal });
      await until(() => log.started);
      const asked = Date.now();
      stop.abort();
      const { sessionId, stopReason } = await running;
      expect(stopReason).toBe("cancelled");
      expect((log.stopped ?? Number.POSITIVE_INFINITY) - asked).toBeLessThan(1000);
      const outcome = policy === "once" ? "unknown" : "failed";
      expect(await resultOf(agent, sessionId, "toolu_1")).toMatchObject({ outcome, is_error: true });
      await expectUsable(agent, sessionId);
    },
  );

  test("a cancel ends the wait before a retry", async () => {
    const { agent, simulator } = await simulatedAgent({ store: storeUrl(kind), base_delay: 60 });
    const stop = new AbortController();
    const prompt = scripted(`retry ${kind}`, [{ error: { status: 529, type: "overloaded_error" } }]);
    const running = agent.run(prompt, { signal: stop.signal });
    await until(() => simulator.ledger.calls({ outcome: "faulted" }).length);
    stop.abort();
    expect(await running).toMatchObject({ stopReason: "cancelled" });
  });

  test("a run that is cancelled in the queue never starts, and its caller is told", async () => {
    const { tool, calls } = counting();
    const slow = endless();
    const { agent } = await simulatedAgent({ tools: [tool, slow.tool], store: storeUrl(kind) });
    const stopFirst = new AbortController();
    const first = agent.run(scripted(`first ${kind}`, [{ tools: [{ name: "endless" }] }]), {
      signal: stopFirst.signal,
    });
    await until(() => slow.log.started);
    const sessions = await agent.sessions();
    const [session] = (await sessions.list()).items;
    const sessionId = session?.id ?? "";
    const stop = new AbortController();
    const queued = agent.run(scripted("never", [{ tools: [{ name: "count" }] }]), { sessionId, signal: stop.signal });
    await until(async () => (await eventsOf(agent, sessionId, "prompt.accepted")).length === 2);
    stop.abort();
    expect(await queued).toMatchObject({ stopReason: "cancelled", totalSteps: 0, conversationHistory: [] });
    stopFirst.abort();
    await first;
    await expectUsable(agent, sessionId);
    expect(calls).toEqual([]);
    expect((await sessions.runs(sessionId)).items).toHaveLength(2);
  });

  test("a signal that is already aborted cancels the run at once", async () => {
    const { agent, simulator } = await simulatedAgent({ store: storeUrl(kind) });
    const prompt = scripted(`aborted ${kind}`, [{ text: "never", delayMs: 5000 }]);
    const result = await agent.run(prompt, { signal: AbortSignal.abort() });
    expect(result.stopReason).toBe("cancelled");
    expect(simulator.ledger.totals().usage.output_tokens).toBe(0);
  });
});

test("a cancel of a finished run is rejected with not_running", async () => {
  const { agent } = await simulatedAgent();
  const { sessionId, runId } = await agent.run("2+2");
  const sessions = await agent.sessions();
  await expect(sessions.cancel(sessionId)).rejects.toMatchObject({ code: "not_running" });
  await expect(sessions.cancel(sessionId, { runId })).rejects.toMatchObject({ code: "not_running" });
});
