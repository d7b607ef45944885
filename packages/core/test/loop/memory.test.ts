import { join } from "node:path";
import { createFullTextMemory } from "@skein/adapters/memories/full-text";
import { type AgentResult, createAgent, defineTool } from "skein";
import { createSimulator } from "@skein/simulator";
import { expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createDatabase } from "../../../../scripts/postgres.ts";
import { scripted, simulatedAgent } from "./simulated.ts";
import { folder } from "./world.ts";

const rows = (result: AgentResult, action: string) =>
  result.agentLogs.filter(({ actionType }) => actionType === action);

test("the model gets memories of another session, and the log has a row for each retrieval and update", async () => {
  const { agent, simulator } = await simulatedAgent({ memory_store_type: "full_text" });
  const learned = await agent.run(scripted("When does the harbour open?", [{ text: "The harbour opens at nine." }]));
  expect(rows(learned, "memory_retrieval")[0]?.actionData).toEqual({
    memories_found: 0,
    memories_injected: 0,
    memory_store_type: "full_text",
  });
  expect(rows(learned, "memory_update")[0]?.actionData).toEqual({
    memories_written: 1,
    memory_store_type: "full_text",
  });
  const asked = await agent.run(scripted("Is the harbour open at eight?", [{ text: "No." }]));
  expect(asked.sessionId).not.toBe(learned.sessionId);
  expect(rows(asked, "memory_retrieval")[0]).toMatchObject({
    actionData: { memories_found: 1, memories_injected: 1, memory_store_type: "full_text" },
    messagesCount: 1,
  });
  expect(rows(asked, "memory_retrieval")[0]?.durationMs).toBeGreaterThanOrEqual(0);
  const [, second] = simulator.ledger.calls({ kind: "messages" });
  expect(JSON.stringify(second?.request)).toContain("The harbour opens at nine.");
  // The model is shown the memories, but they are not written into the transcript.
  expect(JSON.stringify(asked.conversationHistory)).not.toContain("opens at nine");
});

test("memory does not break the cached prefix of a long session", async () => {
  const { agent, simulator } = await simulatedAgent({
    memory_store_type: "full_text",
    system_prompt: "Careful. ".repeat(1000),
  });
  let sessionId: string | undefined;
  for (const topic of ["harbour", "lighthouse", "bakery", "harbour and lighthouse", "bakery"]) {
    await agent.run(scripted(`Elsewhere: tell me of the ${topic}`, [{ text: `The ${topic} is old.` }]));
    const prompt = scripted(`About the ${topic} ${"word ".repeat(1200)}`, [{ text: `Fine ${topic}` }]);
    ({ sessionId } = await agent.run(prompt, sessionId === undefined ? {} : { sessionId }));
  }
  const own = simulator.ledger.calls({ kind: "messages" }).filter((_, index) => index % 2 === 1);
  for (const [index, { usage }] of own.entries()) {
    if (index === 0) continue;
    const before = own[index - 1]?.usage;
    const known = (before?.cache_read_input_tokens ?? 0) + (before?.cache_creation_input_tokens ?? 0);
    expect(usage?.cache_read_input_tokens, `turn ${index + 1}`).toBe(known);
    // Everything but the new words is read from the cache or written to it.
    expect(usage?.input_tokens).toBeLessThan(50);
  }
});

test("the placeholder memory finds and writes nothing, and its rows say so", async () => {
  const { agent } = await simulatedAgent({ memory_store_type: "placeholder" });
  const result = await agent.run(scripted("Hello", [{ text: "Hello" }]));
  expect(rows(result, "memory_retrieval")[0]?.actionData).toMatchObject({ memories_found: 0, memories_injected: 0 });
  expect(rows(result, "memory_update")[0]?.actionData).toMatchObject({ memories_written: 0 });
});

test("an agent without memory has no rows for memory retrievals", async () => {
  const { agent } = await simulatedAgent();
  const result = await agent.run(scripted("Hello", [{ text: "Hello" }]));
  expect(rows(result, "memory_retrieval")).toEqual([]);
});

test.each(["sliding_window", "summarize"] as const)(
  "messages are saved as memories before %s drops them, and a later prompt finds the memories",
  async (compactor_type) => {
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: z.object({}),
      run: () => "The cellar holds forty barrels of salted herring. ".repeat(40),
    });
    const { agent, simulator } = await simulatedAgent({
      memory_store_type: "full_text",
      tools: [look],
      compactor_type,
      compaction_threshold: 2500,
    });
    let last: AgentResult | undefined;
    const all: AgentResult[] = [];
    for (let turn = 1; turn <= 8; turn++) {
      const steps = [{ tools: [{ name: "look" }] }, { text: `Answer ${turn}` }];
      last = await agent.run(scripted(`Turn ${turn}`, steps), last === undefined ? {} : { sessionId: last.sessionId });
      all.push(last);
    }
    const saved = all.flatMap((result) => rows(result, "memory_before_compact"));
    const restored = all.flatMap((result) => rows(result, "memory_after_compact"));
    expect(saved.length).toBeGreaterThan(0);
    expect(saved[0]?.actionData).toMatchObject({ memory_store_type: "full_text" });
    expect(saved[0]?.actionData["details"]).toMatchObject({ memories_written: expect.any(Number) });
    expect(restored).toHaveLength(saved.length);
    await agent.run(scripted("What about the herring?", [{ text: "Forty" }]), {
      sessionId: last?.sessionId ?? "",
    });
    const sent = simulator.ledger.calls({ kind: "messages" }).at(-1)?.request;
    expect(JSON.stringify(sent)).toContain("Result: The cellar holds forty barrels");
  },
);

test("the error of a memory that fails is in the log, and the run continues without the memory", async () => {
  const broken = () => Promise.reject(new Error("The library burned down."));
  const { agent } = await simulatedAgent({
    memory: {
      type: "full_text",
      retrieve: broken,
      update: broken,
      beforeCompaction: broken,
      afterCompaction: broken,
    },
  });
  const result = await agent.run(scripted("Hello", [{ text: "Hello" }]));
  expect(result).toMatchObject({ finalAnswer: "Hello", error: null });
  expect(rows(result, "error").map(({ actionData }) => actionData["error"])).toEqual([
    { code: "memory_error", message: "The library burned down." },
    { code: "memory_error", message: "The library burned down." },
  ]);
});

test("a memory whose answer has the wrong shape is reported in the log, and the run continues without it", async () => {
  const odd = (answer: unknown) => () => Promise.resolve(answer as never);
  const { agent } = await simulatedAgent({
    memory: {
      type: "my_notes",
      retrieve: odd(["just texts"]),
      update: odd("two"),
      beforeCompaction: odd({}),
      afterCompaction: odd({}),
    },
  });
  const result = await agent.run(scripted("Hello", [{ text: "Hello" }]));
  expect(result).toMatchObject({ finalAnswer: "Hello", error: null });
  expect(rows(result, "memory_retrieval")[0]?.actionData).toMatchObject({ memory_store_type: "my_notes" });
  const said = rows(result, "error").map(({ actionData }) => (actionData["error"] as { message: string }).message);
  expect(said).toEqual([
    expect.stringMatching(/^The memory's answer has the wrong format\. .*expected object/),
    expect.stringMatching(/^The memory's answer has the wrong format\. .*expected (number|int)/),
  ]);
  const { agent: kept } = await (await agent.sessions()).state(result.sessionId);
  expect(kept?.memory_store_type).toBe("my_notes");
});

test("the error of a memory's compaction hook is in the log, and the compaction is done", async () => {
  const thrown = (): never => {
    throw new Error("The library burned down.");
  };
  const { agent } = await simulatedAgent({
    compactor_type: "sliding_window",
    compaction_threshold: 100,
    memory: {
      type: "full_text",
      retrieve: () => Promise.resolve({ found: 0, memories: [] }),
      update: () => Promise.resolve(0),
      beforeCompaction: thrown,
      afterCompaction: () => Promise.reject(new Error("The library burned down.")),
    },
  });
  const { sessionId } = await agent.run(scripted("First", [{ text: "Long. ".repeat(100) }]));
  await agent.run(scripted("Second", [{ text: "Long. ".repeat(100) }]), { sessionId });
  const result = await agent.run(scripted("Third", [{ text: "Short." }]), { sessionId });
  expect(result).toMatchObject({ finalAnswer: "Short.", error: null });
  expect(rows(result, "compaction")[0]?.actionData).toMatchObject({ compaction_applied: true });
  expect(rows(result, "error").map(({ actionData }) => actionData["error"])).toEqual([
    { code: "memory_error", message: "The library burned down." },
    { code: "memory_error", message: "The library burned down." },
  ]);
});

test("the type of a given memory is in the agent's configuration, and memories in a file are found after an agent was closed", async () => {
  const place = folder();
  const simulator = await createSimulator();
  onTestFinished(() => simulator.close());
  const options = { apiKey: "test", baseUrl: simulator.url, store: `sqlite:${join(place, "s.db")}` };
  const first = createAgent({ ...options, memory_store_type: "full_text" });
  await first.run(scripted("The password of the tower is Swordfish", [{ text: "Noted." }]));
  await first.close();
  const memory = createFullTextMemory({ file: join(place, "s.db.memory") });
  const second = createAgent({ ...options, memory });
  const result = await second.run(scripted("What is the password of the tower?", [{ text: "Swordfish" }]));
  expect(rows(result, "memory_retrieval")[0]?.actionData).toMatchObject({ memories_injected: 1 });
  const { agent } = await (await second.sessions()).state(result.sessionId);
  expect(agent?.memory_store_type).toBe("full_text");
  await second.close();
  await memory.close();
});

test.each(["sqlite", "file", "postgres"])(
  "full_text stores memories with the sessions, and a later agent finds them (%s)",
  async (kind) => {
    const place = folder();
    const database = await createDatabase(inject("postgres").url, { template: inject("postgres").template });
    const store = { sqlite: `sqlite:${place}/s.db`, file: `file:${place}/s`, postgres: database.url }[kind] as string;
    const options = { name: "Rememberer", memory_store_type: "full_text", store } as const;
    const first = await simulatedAgent(options);
    await first.agent.run(scripted("The password of the tower is Swordfish", [{ text: "Noted." }]));
    await first.agent.close();
    const { agent } = await simulatedAgent(options);
    const result = await agent.run(scripted("What is the password of the tower?", [{ text: "Swordfish" }]));
    expect(rows(result, "memory_retrieval")[0]?.actionData).toMatchObject({ memories_injected: 1 });
    expect((await (await agent.sessions()).list()).items).toHaveLength(2);
    await agent.close();
    await database.drop();
  },
);
