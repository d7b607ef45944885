import type { Simulator } from "@skein/simulator";
import { type Model, type RunState, createMemoryStore, foldAll } from "@skein/core";
import { createScript, scriptedAgent } from "@skein/core/testing";
import { type Content, createIds } from "@skein/protocol";
import { type AgentOptions, type AgentResult, defineTool } from "skein";
import { expect, test } from "vitest";
import { z } from "zod";
import { compact } from "../../src/loop/compaction.ts";
import { scripted, simulatedAgent } from "./simulated.ts";

const look = defineTool({
  name: "look",
  description: "Looks at something.",
  input: z.object({ at: z.string() }),
  policy: "repeatable",
  run: ({ at }) => `I see ${at} ${"and more ".repeat(400)}`,
});

/** Creates a session in which every turn has a tool result of about a thousand tokens. */
async function longSession(options: AgentOptions, turns = 8) {
  const { agent, simulator } = await simulatedAgent({ tools: [look], thinking_tokens: 1024, ...options });
  const results: AgentResult[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    const prompt = scripted(`Turn ${turn}.`, [
      { thinking: `Thought ${turn}.`, tools: [{ name: "look", input: { at: `place ${turn}` } }] },
      { text: `Answer ${turn}.` },
    ]);
    const sessionId = results.at(-1)?.sessionId;
    results.push(await agent.run(prompt, sessionId === undefined ? {} : { sessionId }));
  }
  return { agent, simulator, results, last: results.at(-1) as AgentResult };
}

const checks = (results: readonly AgentResult[]) =>
  results.flatMap(({ agentLogs }) => agentLogs.filter(({ actionType }) => actionType === "compaction"));

function sent(simulator: Simulator): readonly { readonly messages: readonly unknown[] }[] {
  return simulator.ledger.calls({ kind: "messages" }).map(({ request }) => request as { messages: unknown[] });
}

test("compactor none: nothing is checked or shortened", async () => {
  const { results, simulator } = await longSession({ compactor_type: "none", compaction_threshold: 2000 });
  expect(checks(results)).toEqual([]);
  expect(sent(simulator).at(-1)?.messages).toHaveLength(31);
});

test("each check below the threshold is recorded as a row with the reason", async () => {
  const { results } = await longSession({ compactor_type: "sliding_window" }, 1);
  const rows = checks(results);
  expect(rows).toHaveLength(2);
  expect(rows[1]?.actionData).toMatchObject({
    compaction_applied: false,
    reason: "below_threshold",
    threshold: 160_000,
    compactor_type: "sliding_window",
  });
  expect(rows[1]?.actionData["current_tokens"]).toBeGreaterThan(500);
  expect(rows[1]).toMatchObject({ messagesCount: 3, durationMs: 0 });
});

test.each(["tool_result_removal", "sliding_window", "summarize"] as const)(
  "%s keeps requests near the threshold, separates no tool call from its result, and leaves the full history in the log",
  async (compactor_type) => {
    const { agent, simulator, results, last } = await longSession({ compactor_type, compaction_threshold: 4000 });
    for (const { error, finalAnswer } of results) expect({ error, finalAnswer }).toMatchObject({ error: null });
    expect(last.finalAnswer).toBe("Answer 8.");
    // The simulator rejects a call without its result, altered thinking and empty messages with a 400.
    expect(simulator.ledger.totals().outcomes).toMatchObject({ rejected: 0, faulted: 0 });
    const applied = checks(results).filter(({ actionData }) => actionData["compaction_applied"] === true);
    expect(applied.length).toBeGreaterThan(0);
    for (const { actionData } of applied) {
      expect(actionData).toMatchObject({ reason: "above_threshold", threshold: 4000, compactor_type });
      expect(Number(actionData["tokens_after"])).toBeLessThan(Number(actionData["current_tokens"]));
    }
    const biggest = Math.max(...sent(simulator).map(({ messages }) => JSON.stringify(messages).length / 4));
    expect(biggest).toBeLessThan(4000 + 2500);
    const transcript = await (await agent.sessions()).transcript(last.sessionId);
    expect(transcript).toHaveLength(8 * 4);
    expect(JSON.stringify(transcript).match(/I see place/g)).toHaveLength(8);
    const kept = JSON.stringify(sent(simulator).at(-1)?.messages);
    expect(kept).toContain("Turn 1.");
    expect(kept).toContain("Turn 8.");
  },
);

test("sliding_window drops the least important parts first: thinking, long results, results, old turns", async () => {
  const [store, ids] = [createMemoryStore(), createIds()];
  const { create, append, sessionId } = createScript({ store, ids });
  await create();
  for (let turn = 1; turn <= 5; turn++) {
    const id = `toolu_${turn}`;
    const messages: [role: "user" | "assistant", content: Content][] = [
      ["user", `Turn ${turn}.`],
      [
        "assistant",
        [
          { type: "thinking", thinking: `Thought ${turn}. ${"Hm. ".repeat(1500)}`, signature: "s" },
          { type: "tool_use", id, name: "look", input: {} },
        ],
      ],
      [
        "user",
        [{ type: "tool_result", tool_use_id: id, content: `Begin ${turn} ${"and more ".repeat(400)} end ${turn}.` }],
      ],
      ["assistant", `Answer ${turn}.`],
    ];
    for (const [role, content] of messages)
      await append([{ event_type: "message.copied", data: { message_id: ids(), role, content } }]);
  }
  const state = foldAll(sessionId, await store.read(sessionId));
  const parts = { thinking: "Thought 2.", "long results": "end 2.", results: "Begin 2 ", "old turns": "Turn 2." };
  // From check to check, the threshold is lower, so more is dropped.
  const seen = new Set<string>();
  for (let percent = 99; percent > 0; percent--) {
    const threshold = Math.ceil((state.contextTokens * percent) / 100);
    const agent = { ...scriptedAgent, compactor_type: "sliding_window" as const, compaction_threshold: threshold };
    const [fact] = await compact({ ...state, agent }, {} as RunState, {
      models: { refresh: async () => {}, named: () => ({}) as Model },
      memory: undefined,
      now: () => 0,
    });
    const left = JSON.stringify(fact?.event_type === "compaction.checked" && fact.data.messages);
    const dropped = Object.entries(parts).flatMap(([part, text]) => (left.includes(text) ? [] : [part]));
    seen.add(dropped.join(", "));
  }
  expect([...seen]).toEqual([
    "thinking",
    "thinking, long results",
    "thinking, long results, results",
    "thinking, long results, results, old turns",
  ]);
});

test("sliding_window drops old turns, and keeps the first prompt and the last turn", async () => {
  const { simulator } = await longSession({ compactor_type: "sliding_window", compaction_threshold: 3500 }, 10);
  const last = JSON.stringify(sent(simulator).at(-1)?.messages);
  expect(last).toContain("Turn 1.");
  expect(last).not.toContain("Turn 3.");
  expect(last).toContain("Turn 10.");
});

test("summarize calls the model, and the run counts the tokens of this call", async () => {
  const { simulator, results } = await longSession({ compactor_type: "summarize", compaction_threshold: 4000 });
  const calls = simulator.ledger.calls({ kind: "messages" });
  const asked = calls.filter(({ request }) => JSON.stringify(request).includes("Summarise this conversation"));
  expect(asked.length).toBeGreaterThan(0);
  const spent = results.reduce((sum, { usage }) => sum + usage.output_tokens, 0);
  expect(spent).toBe(simulator.ledger.totals().usage.output_tokens);
});

test("a single prompt that is too long is not removed, and the reason is recorded", async () => {
  const { agent } = await simulatedAgent({ compactor_type: "sliding_window", compaction_threshold: 100 });
  const result = await agent.run(scripted(`Long ${"word ".repeat(1000)}`, [{ text: "Read it all." }]));
  expect(result).toMatchObject({ finalAnswer: "Read it all.", error: null });
  expect(checks([result])[0]?.actionData).toMatchObject({ compaction_applied: false, reason: "nothing_to_remove" });
});

test("a run with many steps is compacted before it ends", async () => {
  const { agent, simulator } = await simulatedAgent({
    tools: [look],
    compactor_type: "sliding_window",
    compaction_threshold: 6000,
  });
  const steps = Array.from({ length: 14 }, (_, step) => ({
    text: `Step ${step}.`,
    tools: [{ name: "look", input: { at: `place ${step}` } }],
  }));
  const result = await agent.run(scripted("Many steps", [...steps, { text: "Done" }]));
  expect(result).toMatchObject({ finalAnswer: "Done", error: null, totalSteps: 15 });
  const biggest = Math.max(...sent(simulator).map(({ messages }) => JSON.stringify(messages).length / 4));
  expect(biggest).toBeLessThan(7500);
});

test("sliding_window also shortens a single long run: old steps are dropped, its prompt and the first prompt stay", async () => {
  const write = defineTool({
    name: "write",
    description: "Writes.",
    input: z.object({ text: z.string() }),
    policy: "repeatable",
    run: () => "written",
  });
  const options = { compactor_type: "sliding_window", compaction_threshold: 4000, max_steps: 20 } as const;
  const { agent, simulator } = await simulatedAgent({ tools: [write], ...options });
  const { sessionId } = await agent.run(scripted("The first prompt.", [{ text: "Hello." }]));
  const step = { tools: [{ name: "write", input: { text: "word ".repeat(500) } }] };
  const result = await agent.run(scripted("The long task.", [step]), { sessionId });
  expect(result).toMatchObject({ stopReason: "max_steps", error: null });
  const last = JSON.stringify(sent(simulator).at(-1)?.messages);
  expect(last).toContain("The first prompt.");
  expect(last).toContain("The long task.");
  const biggest = Math.max(...simulator.ledger.calls().map(({ usage }) => inputOf(usage)));
  expect(biggest).toBeLessThan(5500);
});

test("a long system prompt counts too: even a short conversation is compacted if the system prompt is long", async () => {
  const { agent, simulator } = await simulatedAgent({
    tools: [look],
    compactor_type: "sliding_window",
    compaction_threshold: 6000,
    system_prompt: "Be brief. ".repeat(1600),
  });
  let sessionId: string | undefined;
  for (let turn = 1; turn <= 8; turn++) {
    const steps = [{ tools: [{ name: "look", input: { at: `place ${turn}` } }] }, { text: "Seen." }];
    const result = await agent.run(scripted(`Turn ${turn}.`, steps), sessionId === undefined ? {} : { sessionId });
    ({ sessionId } = result);
  }
  expect(inputOf(simulator.ledger.calls().at(-1)?.usage)).toBeLessThan(7000);
});

function inputOf(usage: ReturnType<Simulator["ledger"]["calls"]>[number]["usage"] | undefined): number {
  if (!usage) return 0;
  return usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
}

test("an empty summary does not replace the conversation", async () => {
  const { agent, simulator } = await simulatedAgent({ compactor_type: "summarize", compaction_threshold: 300 });
  const { sessionId } = await agent.run(scripted("First", [{ text: "The herring is in the cellar. ".repeat(60) }]));
  const silent = await agent.run(scripted("Second", [{ text: "\n", stop: "refusal" }]), { sessionId });
  expect(checks([silent])[0]?.actionData).toMatchObject({ compaction_applied: false, reason: "no_summary" });
  expect(JSON.stringify(simulator.ledger.calls().at(-1)?.request)).toContain("The herring is in the cellar.");
});
