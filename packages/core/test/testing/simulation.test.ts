import { foldAll } from "@skein/core";
import { MUTANTS, type Mutant, type SimulationMode, createLoopRuntime, simulate } from "@skein/core/testing";
import type { Event, Fact } from "@skein/protocol";
import { describe, expect, test } from "vitest";

const MODES: readonly SimulationMode[] = ["safety", "liveness"];

/**
 * Returns how many seeds are played: `short`, or four times as many with `SKEIN_LONG=1`. `npm run simulate` plays any
 * number of seeds.
 */
const seeds = (short: number): number => (process.env["SKEIN_LONG"] ? short * 4 : short);

describe("the seeded simulation", () => {
  test("the simulation finds no violated rule in 25 seeds of each mode", async () => {
    for (let seed = 1; seed <= seeds(25); seed++)
      for (const mode of MODES) {
        const { violations } = await simulate({ seed, mode });
        expect(violations, `npm run simulate -- --seed ${seed} --mode ${mode} --trace`).toEqual([]);
      }
  });

  test("the simulation with the real loop and with people who answer finds no violated rule in 15 seeds of each mode", async () => {
    for (let seed = 1; seed <= seeds(15); seed++)
      for (const mode of MODES) {
        const { violations } = await simulate({ seed, mode, createRuntime: createLoopRuntime, answers: true });
        expect(violations, `npm run simulate -- --runtime loop --seed ${seed} --mode ${mode} --trace`).toEqual([]);
      }
  });

  test("the simulation plays the same seed the same way, 25 of 25 times", async () => {
    for (let seed = 1; seed <= seeds(25); seed++) {
      const mode = seed % 2 === 0 ? "safety" : "liveness";
      const [first, second] = [await simulate({ seed, mode }), await simulate({ seed, mode })];
      expect(second.hash).toBe(first.hash);
    }
  });

  test("the simulation plays different seeds differently, and returns a trace of what happened if the caller asks for it", async () => {
    const results = await Promise.all([1, 2, 3].map((seed) => simulate({ seed, mode: "safety", keepTrace: true })));
    expect(new Set(results.map(({ hash }) => hash)).size).toBe(3);
    expect(results[0]?.trace.join("\n")).toContain("prompt.accepted");
  });
});

describe("planted bugs are found", () => {
  // How many seeds may be needed to find each bug. A campaign has 1,000. If a bug needs many more seeds than are listed
  // here, the simulation has become worse.
  const budgets: Partial<Record<Mutant, number>> = { "lost-wake-up": 600, "no-poison": 200 };

  /** These bugs prevent something that should happen. They show only after the end of the faults. */
  const onlyLiveness: ReadonlySet<Mutant> = new Set<Mutant>(["lost-wake-up", "no-poison"]);

  test.each(Object.entries(MUTANTS))("the planted bug %s is found: %s", async (name) => {
    const mutant = name as Mutant;
    const found = await firstFound(mutant, budgets[mutant] ?? 100);
    expect(found, `${mutant} was not found`).toBeDefined();
  });

  async function firstFound(mutant: Mutant, seeds: number): Promise<number | undefined> {
    for (let seed = 1; seed <= seeds; seed++)
      for (const mode of onlyLiveness.has(mutant) ? (["liveness"] as const) : MODES) {
        const { violations } = await simulate({ seed, mode, mutant });
        if (violations.length > 0) return seed;
      }
    return undefined;
  }
});

describe("faults that the simulation found", () => {
  const sessionId = "01890000-0000-7000-8000-00000000000a";
  const [runId, messageId] = ["01890000-0000-7000-8000-00000000000b", "01890000-0000-7000-8000-00000000000c"];

  function log(...facts: readonly { event_type: string; data: object }[]): Event[] {
    return facts.map((fact, index) => ({
      ...(fact as Fact),
      id: `e${index}`,
      session_id: sessionId,
      sequence: index + 1,
      created_at: "2026-11-01T00:00:00.000Z",
    }));
  }

  const prompted = (mode: string) => ({
    event_type: "prompt.accepted",
    data: { message_id: messageId, run_id: runId, mode, content: "hi", model: null, max_cost_micros: null },
  });

  test("a repeated model call does not count as progress of a run that crashes every worker", () => {
    const taken = [
      { event_type: "run.resumed", data: { run_id: runId, fence: 2 } },
      { event_type: "step.abandoned", data: { run_id: runId, step: 1, usage: {}, cost: null } },
      { event_type: "step.started", data: { run_id: runId, step: 2, attempt: 1, purpose: "step" } },
    ];
    const started = { event_type: "session.started", data: { run_id: runId, message_id: messageId } };
    const state = foldAll(sessionId, log(prompted("queue"), started, ...taken, ...taken, ...taken));
    expect(state.run?.resumesWithoutProgress).toBe(3);
  });

  test("a prompt that steers is removed from the queue when its run is cancelled", () => {
    const cancelled = { event_type: "cancel.requested", data: { run_id: runId, reason: null } };
    expect(foldAll(sessionId, log(prompted("steer"), cancelled)).queue).toEqual([]);
  });
});
