import { type AgentResult, createAgent, openStore } from "skein";
import { createSimulator } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { scripted, simulatedAgent } from "./simulated.ts";

const rows = (result: AgentResult, action: string) =>
  result.agentLogs.filter(({ actionType }) => actionType === action).map(({ actionData }) => actionData);

test("the model is sent the reason if its answer fails the check, and each check is logged", async () => {
  const { agent, simulator } = await simulatedAgent({
    validate: (answer) => (answer.includes("42") ? undefined : "The answer must contain the number."),
  });
  const result = await agent.run(scripted("Number", [{ text: "Many" }, { text: "It is 42" }]));
  expect(result).toMatchObject({ finalAnswer: "It is 42", stopReason: "end_turn", totalSteps: 2, error: null });
  expect(rows(result, "final_answer_validation")).toEqual([
    { passed: false, reason: "The answer must contain the number." },
    { passed: true, reason: null },
  ]);
  expect(rows(result, "final_answer_validation_failed")).toEqual([{ reason: "The answer must contain the number." }]);
  const second = simulator.ledger.calls({ kind: "messages" })[1]?.request;
  expect(JSON.stringify(second)).toContain("The answer must contain the number.");
});

test("a check may return a pair: whether the answer passed, and why not", async () => {
  const { agent } = await simulatedAgent({
    validate: async (answer) => [answer.includes("42"), "The answer must contain the number."],
  });
  const result = await agent.run(scripted("Pair", [{ text: "Many" }, { text: "It is 42" }]));
  expect(result).toMatchObject({ finalAnswer: "It is 42", totalSteps: 2, error: null });
  expect(rows(result, "final_answer_validation_failed")).toEqual([{ reason: "The answer must contain the number." }]);
});

test("a run whose answers never pass the check ends after four failed checks", async () => {
  const { agent } = await simulatedAgent({ validate: () => "Still wrong." });
  const result = await agent.run(scripted("Never right", [{ text: "Wrong" }]));
  expect(result).toMatchObject({ stopReason: "error", error: { code: "validation_failed" } });
  expect(result.error?.message).toContain("4 times");
  expect(rows(result, "final_answer_validation_failed")).toHaveLength(4);
  expect(rows(result, "error").length).toBeGreaterThan(0);
});

test("the answer after the last allowed failure is checked: if it is right, the run completes", async () => {
  let checks = 0;
  const { agent, simulator } = await simulatedAgent({ validate: () => ((checks += 1) < 4 ? "Not yet." : undefined) });
  const result = await agent.run(scripted("at last", [{ text: "Here." }]));
  expect(result).toMatchObject({ error: null, finalAnswer: "Here." });
  expect(simulator.ledger.calls({ kind: "messages" })).toHaveLength(4);
});

test("a check that throws counts as failed: the model is told, and the run does not hang", async () => {
  let times = 0;
  const { agent } = await simulatedAgent({
    validate: () => {
      times += 1;
      if (times === 1) throw new Error("The checker is down.");
      return undefined;
    },
  });
  const result = await agent.run(scripted("Throws", [{ text: "One" }, { text: "Two" }]));
  expect(result).toMatchObject({ finalAnswer: "Two", error: null });
  expect(rows(result, "final_answer_validation")[0]).toMatchObject({ passed: false });
  expect(JSON.stringify(result.conversationHistory)).toContain("The checker is down.");
});

test("a refusal is not checked", async () => {
  const seen: string[] = [];
  const { agent } = await simulatedAgent({
    validate: (answer) => {
      seen.push(answer);
      return undefined;
    },
  });
  const refused = await agent.run(scripted("No", [{ text: "I will not.", stop: "refusal" }]));
  expect(refused).toMatchObject({ stopReason: "refusal", error: null });
  expect(seen).toEqual([]);
});

test("a log whose last tool call has no result is repaired before the next model call, and the repair is a fact", async () => {
  const simulator = await createSimulator();
  const store = await openStore("memory:");
  const agent = createAgent({ apiKey: "test", baseUrl: simulator.url, store });
  onTestFinished(async () => {
    await agent.close();
    await store.close();
    await simulator.close();
  });
  const first = await agent.run(scripted("Before", [{ text: "Hello" }]));
  // An imported transcript may end in the middle of a call.
  const call = { type: "tool_use", id: "toolu_lost", name: "gone", input: {} };
  await store.append(first.sessionId, [
    {
      id: crypto.randomUUID(),
      event_type: "message.copied",
      data: { message_id: crypto.randomUUID(), role: "assistant", content: [call] },
    },
  ]);
  const next = await agent.run(scripted("After", [{ text: "Mended" }]), { sessionId: first.sessionId });
  expect(next).toMatchObject({ finalAnswer: "Mended", error: null });
  expect(rows(next, "context_transformation")).toContainEqual({
    transformation_type: "transcript_repaired",
    repairs: [{ added_result: "toolu_lost" }],
  });
  expect(simulator.ledger.totals().outcomes.rejected).toBe(0);
});

test.each([
  ["false", () => false, "error"],
  ["an object", () => ({ ok: false }), "error"],
  ["true", () => true, "end_turn"],
  ["null", () => null, "end_turn"],
  ["an empty text", () => "", "end_turn"],
  ["a pair that says yes", () => [true, "Fine."], "end_turn"],
  ["a pair that says no", () => [false, ""], "error"],
  ["an empty list", () => [], "error"],
])("a check in plain JavaScript that returns %s is understood", async (_, check, stopReason) => {
  const { agent } = await simulatedAgent({ validate: check as unknown as () => undefined });
  const result = await agent.run(scripted(`plain ${_}`, [{ text: "An answer." }]));
  expect(result).toMatchObject({ stopReason, finalAnswer: "An answer." });
});
