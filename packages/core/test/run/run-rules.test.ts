import {
  type CallState,
  type RunState,
  type SessionState,
  cancellation,
  emptyState,
  endWith,
  finalText,
  fold,
  forcedEnd,
  nextPrompt,
  outOfMoney,
  promptAccepted,
  resultAtEnd,
  runResumed,
  runStarted,
  sessionCreated,
  stopReasonOf,
} from "@skein/core";
import { scriptedAgent } from "@skein/core/testing";
import type { AgentConfig, Event, Fact } from "@skein/protocol";
import { describe, expect, test } from "vitest";

const SESSION = "01890000-0000-7000-8000-000000000001";
const id = (n: number): string => `01890000-0000-7000-8000-${String(n).padStart(12, "0")}`;

function folded(...facts: readonly Fact[]): SessionState {
  const created_at = "2026-01-01T12:00:00.000Z";
  return fold(
    emptyState(SESSION),
    facts.map((fact, at): Event => ({ ...fact, id: id(at), session_id: SESSION, sequence: at + 1, created_at })),
  );
}

function created(agent: Partial<AgentConfig> = {}): Fact {
  const config = { ...scriptedAgent, ...agent };
  return sessionCreated({ tenant: "t", agent_id: SESSION, agent_version: 1, agent: config, working_directory: null });
}

const prompt = (n: number, mode: "queue" | "steer" | "interrupt" = "queue", maxCostMicros: number | null = null) =>
  promptAccepted({ message_id: id(n), run_id: id(n + 100), mode, content: `${n}`, max_cost_micros: maxCostMicros });

/** A session with one run in progress. */
function running(change: Partial<RunState> = {}, { limit = null, agent = {}, session = {} }: Limits = {}) {
  const first = prompt(1, "queue", limit);
  const state = Object.assign(folded(created(agent), first, runStarted(first.data, "json")), session);
  const run = Object.assign(state.run as RunState, change);
  return { state, run };
}

interface Limits {
  readonly limit?: number | null;
  readonly agent?: Partial<AgentConfig>;
  readonly session?: Partial<SessionState>;
}

describe("the next prompt", () => {
  test("the next prompt is the one that has waited longest", () => {
    expect(nextPrompt(folded(created(), prompt(1), prompt(2)))?.content).toBe("1");
  });
  test("the next prompt is an interrupting prompt, even if other prompts have waited longer", () => {
    expect(nextPrompt(folded(created(), prompt(1), prompt(2, "interrupt")))?.content).toBe("2");
  });
  test("an empty queue has no next prompt", () => {
    expect(nextPrompt(folded(created()))).toBeUndefined();
  });
});

describe("a run is cancelled", () => {
  test("a cancel stops a run, and the run's error has the reason of the cancel", () => {
    const { state, run } = running({ cancelRequested: true, cancelReason: "Enough." });
    expect(cancellation(state, run)).toEqual({
      stopReason: "cancelled",
      error: { code: "cancelled", message: "Enough." },
    });
  });
  test("an interrupting prompt cancels a run", () => {
    const { state, run } = running();
    state.queue.push(prompt(2, "interrupt").data);
    expect(cancellation(state, run)?.stopReason).toBe("cancelled");
  });
  test("other prompts do not cancel a run", () => {
    const { state, run } = running();
    state.queue.push(prompt(2).data, prompt(3, "steer").data);
    expect(cancellation(state, run)).toBeUndefined();
  });
});

test("after six takeovers without progress a run is poisoned, and its error contains the error of the last worker", () => {
  const { state, run } = running();
  for (let fence = 2; fence <= 6; fence += 1)
    fold(state, [
      {
        ...runResumed(run, fence),
        id: id(fence),
        session_id: SESSION,
        sequence: state.sequence + 1,
        created_at: run.startedAt,
      },
    ]);
  expect(forcedEnd(state, run)).toBeUndefined();
  run.resumesWithoutProgress += 1;
  expect(forcedEnd(state, run, "out of memory")).toEqual({
    stopReason: "poisoned",
    error: {
      code: "poisoned",
      message: "The run was taken over 6 times without progress. The last time it ended with: out of memory",
    },
  });
});

describe("money", () => {
  const model = { model: "claude-sonnet-4-5" };
  const noon = Date.parse("2026-01-01T12:00:00.000Z");
  const micros = (amount: number): string => String(BigInt(amount) * 1_000_000n);
  const end = ({ state, run }: ReturnType<typeof running>, next: { model: string | null } = model) =>
    outOfMoney(state, run, { ...next, now: noon });

  test("without a limit, a run may continue at any cost, even if its model has no price", () => {
    expect(end(running({ costPicos: micros(1e9), unpricedCalls: 3 }), { model: "nobody-knows" })).toBeUndefined();
  });

  test("a run that has reached its limit ends", () => {
    expect(end(running({ costPicos: micros(500_000) }, { limit: 500_000 }))).toEqual({
      stopReason: "budget",
      error: { code: "budget_exceeded", message: "The run has a budget of $0.500000, and $0.500000 is spent." },
    });
    expect(end(running({ costPicos: micros(499_999) }, { limit: 500_000 }))).toBeUndefined();
  });

  test("the possible cost of interrupted model calls counts until its reservation ends, and is reported separately from the spent money", () => {
    const reservation = (until: string) => ({ reservations: [{ runId: id(101), micros: 300_000, until }] });
    const limits = (until: string) => ({ limit: 500_000, session: reservation(until) });
    const spent = { costPicos: micros(200_000) };
    expect(end(running(spent, limits("2026-01-02T11:59:59.000Z")))?.error.message).toBe(
      "The run has a budget of $0.500000, and $0.200000 is spent and $0.300000 is reserved for calls that broke off.",
    );
    expect(end(running(spent, limits("2026-01-01T12:00:00.000Z")))).toBeUndefined();
  });

  test("the cost of subagents counts for the run and for the session", () => {
    expect(end(running({ costPicos: micros(1), delegatedPicos: micros(1) }, { limit: 2 }))?.stopReason).toBe("budget");
    const session = { costPicos: micros(3), delegatedPicos: micros(4) };
    expect(end(running({}, { agent: { max_cost_micros: 7 }, session }))?.error.message).toContain(
      "The session has a budget of",
    );
  });

  test("a run with a limit ends before its first model call if its model has no price", () => {
    expect(end(running({}, { limit: 1_000_000 }), { model: "nobody-knows" })).toEqual({
      stopReason: "budget",
      error: {
        code: "budget_exceeded",
        message:
          "The model nobody-knows has no price, so the budget cannot be enforced. Remove the budget, or use a model that has a price.",
      },
    });
  });

  test("a run with a limit ends after its first call to a model without a price, if the model was not known in advance", () => {
    const limited = { limit: 1_000_000 };
    expect(end(running({}, limited), { model: null })).toBeUndefined();
    expect(end(running({ unpricedCalls: 1 }, limited), { model: null })?.error).toMatchObject({
      code: "budget_exceeded",
      message: expect.stringContaining("The run called a model that has no price") as string,
    });
  });

  test("a model call without a price in an earlier run counts against the limit of the session, not against the limit of the run", () => {
    const session = { unpricedCalls: 1 };
    expect(end(running({}, { limit: 1_000_000, session }))).toBeUndefined();
    expect(end(running({}, { agent: { max_cost_micros: 1_000_000 }, session }))?.stopReason).toBe("budget");
  });
});

test.each([
  ["cancelled", "cancelled"],
  ["poisoned", "poisoned"],
  ["budget_exceeded", "budget"],
  ["context_window_exceeded", "context_window_exceeded"],
  ["max_turns", "max_steps"],
  ["api_error", "error"],
])("an error with the code %s ends a run with the stop reason %s", (code, stopReason) => {
  expect(endWith({ code, message: "" }).stopReason).toBe(stopReason);
});

test.each([
  ["end_turn", "end_turn"],
  ["tool_use", "end_turn"],
  [null, "end_turn"],
  ["max_tokens", "max_tokens"],
  ["stop_sequence", "stop_sequence"],
  ["refusal", "refusal"],
  ["model_context_window_exceeded", "context_window_exceeded"],
])("a run whose last reply stopped with %s completes with %s", (reply, stopReason) => {
  expect(stopReasonOf(reply)).toBe(stopReason);
});

test.each([
  ["a started call of a once tool in a cancelled run", "cancelled", ["started", "once"], ["unknown", /was cancelled/]],
  ["a started call of a once tool in a failed run", "error", ["started", "once"], ["unknown", /outcome .* is unknown/]],
  [
    "a started call of a repeatable tool in a failed run",
    "error",
    ["started", "repeatable"],
    ["failed", /was not run/],
  ],
  ["a call that waits for an answer in a poisoned run", "poisoned", ["waiting", null], ["failed", /was not run/]],
  ["a call that waits for an answer in a cancelled run", "cancelled", ["waiting", null], ["failed", /was cancelled/]],
] as const)("%s gets a result when the run ends", (_, stopReason, [phase, policy], [outcome, content]) => {
  const result = resultAtEnd({ phase, policy } as CallState, stopReason);
  expect(result.outcome).toBe(outcome);
  expect(result.content).toMatch(content);
});

test("the final text of an answer is the text after its last tool block", () => {
  const text = (words: string) => ({ type: "text", text: words });
  expect(finalText([text("Let me look."), { type: "server_tool_use" }, text("It is 4.")])).toBe("It is 4.");
  expect(finalText("It is 4.")).toBe("It is 4.");
});
