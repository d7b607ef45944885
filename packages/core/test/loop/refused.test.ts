import type { Simulator } from "@skein/simulator";
import { type Content, defineTool } from "skein";
import { expect, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "./simulated.ts";
import { counting, eventsOf, expectUsable, pick } from "./world.ts";

// A message that a model's API rejects would be rejected again in every later request, so the session must leave it
// out.

const refusal = { error: { status: 400, type: "invalid_request_error", message: "Could not process image" } };
const lastRequest = (simulator: Simulator): string => JSON.stringify(simulator.ledger.calls().at(-1)?.request);

test("a prompt that steered a run and was rejected is left out of later requests", async () => {
  const slow = defineTool({
    name: "slow",
    description: "Takes its time.",
    input: z.object({}),
    run: async (_, { sessionId }) => {
      steered = agent.run(scripted("poisonous", [refusal]), { sessionId, mode: "steer" });
      const accepted = async () => (await eventsOf(agent, sessionId, "prompt.accepted")).length === 2;
      while (!(await accepted())) await new Promise((resolve) => setTimeout(resolve, 5));
      return "slow result";
    },
  });
  let steered: ReturnType<typeof agent.run> | undefined;
  const { agent, simulator } = await simulatedAgent({ tools: [slow] });
  const result = await agent.run(scripted("hello", [{ tools: [{ name: "slow", id: "toolu_1" }] }, { text: "Fine." }]));
  expect(result).toMatchObject({ stopReason: "error", error: { message: "Could not process image" } });
  await steered;
  await expectUsable(agent, result.sessionId);
  expect(lastRequest(simulator)).toContain("hello");
  expect(lastRequest(simulator)).not.toContain("poisonous");
});

test("a tool result that the API rejects is left out, and its call gets another result", async () => {
  const image = { type: "image", source: { type: "url", url: "https://example.com/gone.png" } };
  const shot = defineTool({ name: "shot", description: "Takes a picture.", input: z.object({}), run: () => [image] });
  const { agent, simulator } = await simulatedAgent({ tools: [shot] });
  const { sessionId, error } = await agent.run(scripted("shoot", [{ tools: [{ name: "shot" }] }, refusal]));
  expect(error).toMatchObject({ message: "Could not process image" });
  await expectUsable(agent, sessionId);
  expect(lastRequest(simulator)).not.toContain("gone.png");
  expect(lastRequest(simulator)).toContain("No result returned for this tool call.");
  expect(await eventsOf(agent, sessionId, "transcript.repaired")).toHaveLength(1);
});

test("after a request was rejected for lack of credit, later requests still have every message", async () => {
  const broke = { ...refusal.error, message: "Your credit balance is too low to access the Anthropic API." };
  const { agent, simulator } = await simulatedAgent();
  const { sessionId, error } = await agent.run(scripted("unlucky", [{ error: broke }]));
  expect(error).toMatchObject({ code: "billing_error", message: broke.message });
  await expectUsable(agent, sessionId);
  expect(lastRequest(simulator)).toContain("unlucky");
});

test.each<[string, Content]>([
  [
    "an image that is not valid",
    [{ type: "image", source: { type: "base64", media_type: "image/png", data: "bm9uZQ==" } }],
  ],
  ["a block that a result cannot have", [{ type: "tool_use", id: "x", name: "y", input: {} }]],
  ["a text of spaces", [{ type: "text", text: " \n" }]],
])("an answer with %s is rejected, and the session still waits for an answer", async (_, content) => {
  const { agent } = await simulatedAgent({ tools: [pick] });
  const call = { name: "pick", id: "toolu_1", input: { of: ["red"] } };
  const { sessionId } = await agent.run(scripted("pick", [{ tools: [call] }, { text: "So: $LAST" }]));
  await expect(agent.answer(sessionId, [{ toolUseId: "toolu_1", content }])).rejects.toMatchObject({ code: "invalid" });
  const image = { type: "image", source: { type: "url", url: "https://example.com/red.png" } };
  const result = await agent.answer(sessionId, [{ toolUseId: "toolu_1", content: [image] }]);
  expect(result).toMatchObject({ stopReason: "end_turn", error: null });
});

test("a client's answer that is too long is cut like the result of a tool", async () => {
  const { agent } = await simulatedAgent({ tools: [pick] });
  const call = { name: "pick", id: "toolu_1", input: { of: ["red"] } };
  const { sessionId } = await agent.run(scripted("long", [{ tools: [call] }, { text: "Done." }]));
  await agent.answer(sessionId, [{ toolUseId: "toolu_1", content: "x".repeat(1_000_000) }]);
  const [completed] = await eventsOf(agent, sessionId, "tool.completed");
  expect(JSON.stringify(completed?.data.content).length).toBeLessThan(101_000);
  expect(completed?.data.content).toContain("[Shortened: the result has 1000000 characters");
});

test.each([
  ["alone", [{ text: "\n\n" }]],
  ["before a call", [{ text: " ", tools: [{ name: "pick", id: "toolu_1", input: { of: [] } }] }, { text: "Picked." }]],
])("if the model's answer is only spaces (%s), the session stays usable", async (where, steps) => {
  const { agent } = await simulatedAgent({ tools: [pick] });
  const { sessionId, stopReason } = await agent.run(scripted(`spaces ${where}`, steps));
  if (stopReason === "awaiting_frontend_tools")
    expect(await agent.answer(sessionId, [{ toolUseId: "toolu_1", content: "red" }])).toMatchObject({ error: null });
  await expectUsable(agent, sessionId);
});

const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } };
const paused = { text: "Let me look. ", blocks: [search], stop: "pause_turn" as const };
const web = { server_tools: [{ type: "web_search_20250305", name: "web_search" }] };

test("a search that was interrupted by the limit of steps is not sent with the summary, nor in later requests", async () => {
  const { agent } = await simulatedAgent({ ...web, max_steps: 1 });
  const result = await agent.run(scripted("search", [paused, { text: "Summary." }]));
  expect(result).toMatchObject({ stopReason: "max_steps", finalAnswer: "Summary.", error: null });
  await expectUsable(agent, result.sessionId);
});

test.each([
  ["the token limit", { ...paused, stop: "max_tokens" as const }],
  ["a refusal", { ...paused, stop: "refusal" as const }],
])("after %s interrupts a search, the session stays usable and the search is reported as left out", async (_, step) => {
  const { agent } = await simulatedAgent(web);
  const { sessionId } = await agent.run(scripted(`broken off ${_}`, [step]));
  await expectUsable(agent, sessionId);
  const [repaired] = await eventsOf(agent, sessionId, "transcript.repaired");
  expect(repaired?.data.repairs).toEqual([{ dropped_call: "srvtoolu_1" }]);
});

test("a session can continue after a run that was cancelled while the model paused", async () => {
  const stop = new AbortController();
  const { agent } = await simulatedAgent(web);
  const onEvent = ({ event_type }: { event_type: string }) => void (event_type === "step.generated" && stop.abort());
  const steps = [paused, { text: "Late.", delayMs: 60_000 }];
  const { sessionId } = await agent.run(scripted("cancelled", steps), { signal: stop.signal, onEvent });
  await expectUsable(agent, sessionId);
});

test("a run can continue if the model paused right after a space character", async () => {
  const { agent } = await simulatedAgent(web);
  const result = await agent.run(scripted("pause", [{ text: "One ", stop: "pause_turn" }, { text: "two." }]));
  expect(result).toMatchObject({ stopReason: "end_turn", error: null });
});

test("cache marks of callers are removed, so that a request never has too many", async () => {
  const cache_control = { type: "ephemeral" };
  const marked = { type: "text", text: "Marked.", cache_control };
  const read = defineTool({ name: "read", description: "Reads.", input: z.object({}), run: () => [marked, marked] });
  const { agent } = await simulatedAgent({ system_prompt: "Be brief.", tools: [read] });
  const steps = [{ tools: [{ name: "read" }] }, { text: "Done." }];
  const prompt = [marked, marked, { type: "text", text: scripted("marks", steps), cache_control }];
  const first = await agent.run(prompt);
  expect(first).toMatchObject({ finalAnswer: "Done.", error: null });
  await expectUsable(agent, first.sessionId);
});

test("if the model refuses after it has asked for tool calls, the calls are not run and the run ends", async () => {
  const { tool, calls } = counting();
  const { agent, simulator } = await simulatedAgent({ tools: [tool] });
  const result = await agent.run(scripted("no", [{ tools: [{ name: "count" }], stop: "refusal" }]));
  expect(result).toMatchObject({ stopReason: "refusal", totalSteps: 1, error: null });
  expect(calls).toEqual([]);
  expect(simulator.ledger.calls()).toHaveLength(1);
  await expectUsable(agent, result.sessionId);
});
