import { readFileSync } from "node:fs";
import { join } from "node:path";
import { claudeAgent, createMemoryStore, createSessions } from "@skein/core";
import { ClaudeOptions } from "@skein/protocol";
import { createSimulator } from "@skein/simulator";
import { createAgent, defineTool } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { scripted } from "./simulated.ts";
import { child, eventsOf, expectUsable, folder, pick, resultOf, until } from "./world.ts";

/** Starts a process that works on a store, and an agent in this process that takes over. */
async function twoProcesses(prompt: string) {
  const simulator = await createSimulator();
  const place = folder();
  const store = `sqlite:${join(place, "skein.db")}`;
  const effects = join(place, "effects");
  const ran: string[] = [];
  const tool = (name: "once" | "repeatable") =>
    defineTool({
      name,
      description: "Has an effect.",
      input: z.object({}),
      policy: name,
      run: (_, { idempotencyKey }) => ran.push(idempotencyKey),
    });
  const first = child("run.ts", store, simulator.url, effects, prompt);
  const { session_id: sessionId } = (await first.line()) as { session_id: string };
  /** The effects of the first process's tools. */
  const effectsOfFirst = (): readonly string[] => readFileSync(effects, "utf8").trim().split("\n");
  const next = () => {
    const tools = [tool("once"), tool("repeatable"), pick];
    const agent = createAgent({ store, apiKey: "test", baseUrl: simulator.url, tools });
    onTestFinished(() => agent.close());
    return agent;
  };
  onTestFinished(() => simulator.close());
  return { first, sessionId, store, simulator, ran, effectsOfFirst, next };
}

test("an effect in progress when its process died is not repeated: the model is told that its outcome is unknown", async () => {
  const prompt = scripted("once", [{ tools: [{ name: "once", id: "toolu_1" }] }, { text: "So: $LAST" }]);
  const { first, sessionId, effectsOfFirst, ran, next } = await twoProcesses(prompt);
  await first.exit();
  const agent = next();
  const end = await agent.resume(sessionId);
  expect(end.finalAnswer).toMatch(/^So: The outcome of this call is unknown/);
  expect(effectsOfFirst()).toEqual([`${sessionId}/toolu_1`]);
  expect(ran).toEqual([]);
  expect(await resultOf(agent, sessionId, "toolu_1")).toMatchObject({ outcome: "unknown", is_error: true });
  expect(await eventsOf(agent, sessionId, "run.resumed")).toHaveLength(1);
  await expectUsable(agent, sessionId);
});

test("a repeatable tool is called again, with the same idempotency key", async () => {
  const prompt = scripted("again", [{ tools: [{ name: "repeatable", id: "toolu_1" }] }, { text: "So: $LAST" }]);
  const { first, sessionId, effectsOfFirst, ran, next } = await twoProcesses(prompt);
  await first.exit();
  expect(await next().resume(sessionId)).toMatchObject({ finalAnswer: "So: 1", stopReason: "end_turn" });
  expect(ran).toEqual(effectsOfFirst());
});

test("a model call whose process died is made again, and the possible cost of the lost call is reserved until the new answer", async () => {
  const prompt = scripted("call", [{ text: "Here.", hang: { times: 1 } }]);
  const { first, sessionId, simulator, next } = await twoProcesses(prompt);
  await until(() => simulator.ledger.calls({ outcome: "open" }).length);
  first.process.kill("SIGKILL");
  await first.exit();
  const agent = next();
  const end = await agent.resume(sessionId);
  expect(end.finalAnswer).toBe("Here.");
  const [lost] = await eventsOf(agent, sessionId, "step.abandoned");
  expect(lost?.data).toMatchObject({ reason: "worker_lost", usage: { output_tokens: 0 }, cost: { total_micros: 0 } });
  expect(lost?.data.reserved_micros).toBeGreaterThan(0);
  const [row] = (await (await agent.sessions()).runs(sessionId)).items;
  const [answered] = simulator.ledger.calls({ outcome: "answered" });
  expect(row?.usage.output_tokens).toBe(answered?.usage?.output_tokens);
  expect(row).toMatchObject({ estimated_calls: 1, reserved_micros: 0 });
});

test("a run that waits survives its process, and continues in another process", async () => {
  const call = { name: "pick", input: { of: ["red"] }, id: "toolu_1" };
  const prompt = scripted("waits", [{ tools: [call] }, { text: "You said $LAST" }]);
  const { first, sessionId, next } = await twoProcesses(prompt);
  while (((await first.line()) as { stopReason?: string }).stopReason !== "awaiting_frontend_tools");
  first.process.kill("SIGKILL");
  await first.exit();
  const agent = next();
  expect(await agent.resume(sessionId)).toMatchObject({ awaiting: [{ tool_use_id: "toolu_1" }] });
  const end = await agent.answer(sessionId, [{ toolUseId: "toolu_1", content: "red" }]);
  expect(end).toMatchObject({ finalAnswer: "You said red", totalSteps: 2 });
});

test("a run whose answer arrives through another process continues with that answer", async () => {
  const call = { name: "pick", input: { of: ["red"] }, id: "toolu_1" };
  const prompt = scripted("other", [{ tools: [call] }, { text: "You said $LAST" }]);
  const { first, sessionId, store, next } = await twoProcesses(prompt);
  while (((await first.line()) as { stopReason?: string }).stopReason !== "awaiting_frontend_tools");
  const answers = ["a", "b"].map((content) => child("answer.ts", store, sessionId, "toolu_1", content));
  const said = (await Promise.all(answers.map(({ line }) => line()))) as { disposition: string }[];
  expect(said.map(({ disposition }) => disposition).toSorted()).toEqual(["accepted", "duplicate"]);
  expect(await child("answer.ts", store, sessionId, "toolu_x", "?").line()).toMatchObject({
    disposition: "refused",
  });
  const winner = said[0]?.disposition === "accepted" ? "a" : "b";
  expect(await next().resume(sessionId)).toMatchObject({ finalAnswer: `You said ${winner}` });
});

test("after a process dies, the next process completes its run and then runs a new prompt", async () => {
  const prompt = scripted("queued", [{ text: "First.", hang: { times: 1 } }]);
  const { first, sessionId, simulator, next } = await twoProcesses(prompt);
  await until(() => simulator.ledger.calls({ outcome: "open" }).length);
  first.process.kill("SIGKILL");
  await first.exit();
  const agent = next();
  const second = agent.run(scripted("second", [{ text: "Second." }]), { sessionId });
  expect(await second).toMatchObject({ finalAnswer: "Second." });
  const runs = (await (await agent.sessions()).runs(sessionId)).items;
  expect(runs.map(({ outcome, number }) => [number, outcome])).toEqual([
    [2, "completed"],
    [1, "completed"],
  ]);
});

test("resuming a session without a run, or an unknown session, is rejected", async () => {
  const agent = createAgent();
  onTestFinished(() => agent.close());
  const nobody = "01890000-0000-7000-8000-0000000000ff";
  await expect(agent.resume(nobody)).rejects.toMatchObject({ code: "not_found" });
  const { sessionId } = await agent.run("2+2");
  const sessions = await agent.sessions();
  const fork = await sessions.fork(sessionId);
  await expect(agent.resume(fork.id)).rejects.toMatchObject({ code: "not_running" });
});

test("an agent does not run the sessions of an agent with another name, and an agent of the same name continues them", async () => {
  const simulator = await createSimulator();
  const store = `sqlite:${join(folder(), "skein.db")}`;
  const options = { store, apiKey: "test", baseUrl: simulator.url };
  const owning = { ...options, name: "Owner", tools: [pick] };
  const [owner, nextOwner] = [createAgent(owning), createAgent(owning)];
  const stranger = createAgent({ ...options, name: "Stranger" });
  onTestFinished(async () => {
    await Promise.all([nextOwner.close(), stranger.close()]);
    await simulator.close();
  });
  const call = { name: "pick", input: { of: ["red"] }, id: "toolu_1" };
  const paused = await owner.run(scripted("owned", [{ tools: [call] }, { text: "You said $LAST" }]));
  await owner.close();
  const strangers = await stranger.sessions();
  expect(await strangers.answer(paused.sessionId, "toolu_1", { content: "red" })).toMatchObject({
    disposition: "accepted",
  });
  await expect(stranger.resume(paused.sessionId)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining('"Owner"'),
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await eventsOf(stranger, paused.sessionId, "step.started")).toHaveLength(1);
  expect(await nextOwner.resume(paused.sessionId)).toMatchObject({ finalAnswer: "You said red" });
});

test("a session of Claude Code is rejected before its prompt is accepted: the library cannot run it", async () => {
  const store = createMemoryStore();
  const sessions = createSessions({ store });
  const { id } = await sessions.create(claudeAgent(ClaudeOptions.parse({})));
  const agent = createAgent({ name: "helper", store });
  onTestFinished(() => agent.close());
  await expect(agent.run("Go on.", { sessionId: id })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("skein serve"),
  });
  expect(await sessions.events(id)).toHaveLength(1);
});
