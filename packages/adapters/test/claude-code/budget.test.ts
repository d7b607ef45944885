/** Budgets limit sessions of Claude Code by the same rule as sessions in which Skein calls the model itself. */
import { expect, test } from "vitest";
import { claudeAgent, createWorld, only, play, spawning } from "./world.ts";

test("a run that has spent its budget ends, and the next run may continue", async () => {
  const world = await createWorld();
  const session = await world.sessions.create(claudeAgent({ cwd: world.cwd, allowed_tools: ["Bash"] }));
  const step = (n: number) => ({ tools: [{ name: "Bash", input: { command: `echo ${n} >> steps` } }] });
  const { runId } = await world.sessions.prompt(session.id, {
    content: play(step(1), step(2), step(3), { text: "Done." }),
    maxCostMicros: 1,
  });
  const events = await world.ended(session.id, runId);
  expect(only(events, "session.failed")[0]?.data).toMatchObject({
    stop_reason: "budget",
    error: { code: "budget_exceeded" },
  });
  expect(only(events, "step.generated").length).toBeLessThan(4);
  expect(only(events, "tool.completed")).toHaveLength(only(events, "tool.started").length);
  const next = await world.again(session.id, play({ text: "On." }));
  expect(only(next, "session.completed")[0]?.data.final_response).toBe("On.");
  // The option `max_budget_usd` of a prompt limits its run in the same way.
  const limited = await world.again(session.id, play(step(4), step(5), { text: "Done." }), {
    max_budget_usd: 0.000001,
  });
  expect(only(limited, "session.failed")[0]?.data).toMatchObject({ error: { code: "budget_exceeded" } });
}, 120_000);

test("a model without a price is called only if there is no budget", async () => {
  const pids: number[] = [];
  const world = await createWorld(spawning(pids));
  const session = await world.sessions.create(claudeAgent({ cwd: world.cwd, model: "claude-opus-9-9" }));
  const { runId } = await world.sessions.prompt(session.id, {
    content: play({ text: "Hi." }),
    maxCostMicros: 1_000_000,
  });
  const events = await world.ended(session.id, runId);
  expect(only(events, "session.failed")[0]?.data).toMatchObject({
    stop_reason: "budget",
    error: { code: "budget_exceeded", message: expect.stringContaining("claude-opus-9-9 has no price") as string },
  });
  expect(pids).toEqual([]);
  const free = await world.again(session.id, play({ text: "Hi." }));
  expect(only(free, "session.completed")[0]?.data).toMatchObject({ final_response: "Hi.", unpriced_calls: 1 });
}, 120_000);

test("a session that has spent its budget makes no further model calls", async () => {
  const world = await createWorld();
  const agent = claudeAgent({ cwd: world.cwd });
  const session = await world.sessions.create({ ...agent, config: { ...agent.config, max_cost_micros: 1 } });
  const first = await world.again(session.id, play({ text: "One." }));
  expect(only(first, "session.completed")[0]?.data.cost_micros).toBeGreaterThan(0);
  const second = await world.again(session.id, play({ text: "Two." }));
  expect(only(second, "session.failed")[0]?.data).toMatchObject({
    stop_reason: "budget",
    error: {
      code: "budget_exceeded",
      message: expect.stringContaining("The session has a budget of $0.000001") as string,
    },
  });
  expect(only(second, "step.generated")).toEqual([]);
}, 120_000);
