import { type Store, openStore } from "skein";
import type { NewEvent } from "@skein/protocol";
import { type MockInstance, afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { scripted, simulatedAgent } from "./simulated.ts";
import { counting, eventsOf, expectUsable, storeUrl } from "./world.ts";

/**
 * Internal errors are reported as warnings of the process. The errors of these tests are planted, so they are counted
 * instead of printed.
 */
let warned: MockInstance<typeof process.emitWarning>;
beforeEach(() => void (warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)));
afterEach(() => warned.mockRestore());

const PLANTED = "planted: x is not a function";

/** Opens a store that fails with an unexpected error if `wrong` is true for a batch, but at most `times` times. */
async function failing(wrong: (batch: readonly NewEvent[]) => boolean, times = Number.POSITIVE_INFINITY) {
  const store = await openStore(storeUrl("sqlite"));
  onTestFinished(() => store.close());
  let left = times;
  const append: Store["append"] = (sessionId, batch, options) => {
    if (left <= 0 || !wrong(batch)) return store.append(sessionId, batch, options);
    left -= 1;
    return Promise.reject(new TypeError(PLANTED));
  };
  return { ...store, append } satisfies Store;
}

const has =
  (type: NewEvent["event_type"], text = "") =>
  (batch: readonly NewEvent[]): boolean =>
    batch.some((event) => event.event_type === type && JSON.stringify(event).includes(text));

// One hour, because nothing here waits for a lease to expire.
const leaseMs = 3_600_000;

test("an internal error that repeats fails the run, with the message of the error", async () => {
  const store = await failing(has("step.generated", "Poisonous."));
  const { agent } = await simulatedAgent({ store, leaseMs, tools: [counting().tool] });
  const steps = [{ tools: [{ name: "count", id: "toolu_1" }] }, { text: "Poisonous." }];
  const { sessionId, ...result } = await agent.run(scripted("hello", steps));
  expect(result).toMatchObject({ stopReason: "poisoned", error: { code: "poisoned" } });
  expect(result.error?.message).toContain(PLANTED);
  expect(warned.mock.calls.map(([warning]) => String(warning))).toContain(`TypeError: ${PLANTED}`);
  expect(result.agentLogs.filter(({ actionType }) => actionType === "run_failed")).toHaveLength(1);
  expect(result.agentLogs.some(({ actionType }) => actionType === "error")).toBe(true);
  expect(await eventsOf(agent, sessionId, "session.failed")).toHaveLength(1);
  await expectUsable(agent, sessionId);
}, 60_000);

test("if a tool's result cannot be stored, the outcome of the call counts as unknown", async () => {
  const store = await failing(has("tool.completed", "call 1"));
  const { tool, calls } = counting();
  const { agent } = await simulatedAgent({ store, leaseMs, tools: [tool] });
  const steps = [{ tools: [{ name: "count", id: "toolu_1" }] }, { text: "So: $LAST" }];
  const { finalAnswer } = await agent.run(scripted("hello", steps));
  expect(finalAnswer).toMatch(/^So: The outcome of this call is unknown/);
  expect(calls).toHaveLength(1);
}, 60_000);

test("a run that cannot begin also ends as poisoned", async () => {
  let wrong = false;
  const store = await failing((batch) => wrong && has("step.started")(batch));
  const { agent } = await simulatedAgent({ store, leaseMs });
  const { sessionId } = await agent.run(scripted("hello", [{ text: "Hello." }]));
  wrong = true;
  expect(await agent.run("And now?", { sessionId })).toMatchObject({ stopReason: "poisoned" });
  wrong = false;
  await expectUsable(agent, sessionId);
}, 60_000);

test("a temporary internal error only delays the run", async () => {
  const store = await failing(has("step.generated", "Hello."), 3);
  const { agent } = await simulatedAgent({ store, leaseMs });
  const result = await agent.run(scripted("hello", [{ text: "Hello." }]));
  expect(result).toMatchObject({ stopReason: "end_turn", finalAnswer: "Hello.", error: null });
}, 60_000);
