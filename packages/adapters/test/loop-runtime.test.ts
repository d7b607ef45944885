/** The loop (the runtime in which Skein calls the model itself), with the real model adapter, against the simulator. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalEngine } from "@skein/adapters/engines/local";
import { timers } from "@skein/adapters/engines/timers";
import { createAnthropicModel } from "@skein/adapters/models/anthropic";
import { createSqliteStore } from "@skein/adapters/stores/sqlite";
import {
  type AgentCode,
  type Model,
  type SessionAgent,
  type Store,
  type Tool,
  createLoop,
  createMemoryStore,
  createSubagents,
  defineTool,
  onlyModel,
} from "@skein/core";
import {
  type AgentUnderTest,
  type ModelRequestSeen,
  type RuntimeUnderTest,
  describeRuntime,
} from "@skein/core/testing";
import { AgentConfig } from "@skein/protocol";
import { createSimulator, script } from "@skein/simulator";
import { z } from "zod";

/** Creates the tools that the tests of `describeRuntime` call, and counts their effects. */
function createTools() {
  const counts = new Map<string, number>();
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const gate = (name: string): PromiseWithResolvers<void> => {
    const found = gates.get(name) ?? Promise.withResolvers<void>();
    gates.set(name, found);
    return found;
  };
  const input = z.object({ name: z.string() });
  const act = (name: string): string => {
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return `did ${name}`;
  };
  const backend = (name: string, needsApproval: boolean, run: (name: string) => unknown): Tool =>
    defineTool({ name, description: "Has an effect.", input, needsApproval, run: (given) => run(given.name) });
  const held = async (name: string): Promise<string> => {
    const said = act(name);
    await gate(name).promise;
    return said;
  };
  const waiting = [
    defineTool({ name: "pick", description: "Lets the client pick.", input, executor: "frontend" }),
    defineTool({
      name: "AskUserQuestion",
      description: "Asks.",
      input: z.object({ question: z.string() }),
      executor: "question",
    }),
    defineTool({
      name: "Helper",
      description: "Helps.",
      input: z.object({ prompt: z.string() }),
      executor: "subagent",
      subagent: "Helper",
    }),
  ];
  const toolsFor = (asks: boolean): ReadonlyMap<string, Tool> =>
    new Map([backend("effect", asks, act), backend("held", asks, held), ...waiting].map((tool) => [tool.name, tool]));
  return { toolsFor, effects: (name: string) => counts.get(name) ?? 0, go: (name: string) => gate(name).resolve() };
}

function agentNamed(name: string, tools: ReadonlyMap<string, Tool>, options: AgentUnderTest): SessionAgent {
  const { model = "claude-sonnet-5-5", maxCostMicros = null } = options;
  const schemas = [...tools.values()].map(({ name: tool, description, inputSchema }) => ({
    name: tool,
    description,
    input_schema: inputSchema,
  }));
  return {
    id: "00000000-0000-7000-8000-00000000001f",
    version: 1,
    status: "active",
    config: AgentConfig.parse({
      name,
      model,
      max_cost_micros: maxCostMicros,
      max_tokens: 200,
      base_delay: 0.01,
      tool_schemas: schemas,
    }),
  };
}

async function openLoop(store: () => Promise<Store>, close: () => Promise<void>): Promise<RuntimeUnderTest> {
  const simulator = await createSimulator();
  const { toolsFor, effects, go } = createTools();
  const model: Model = createAnthropicModel({ apiKey: "test", baseUrl: simulator.url });
  const codes = new Map(
    [false, true].map((asks): [string, AgentCode] => [
      asks ? "Asking" : "Acting",
      { tools: toolsFor(asks), validate: undefined, memory: undefined },
    ]),
  );
  const helper = agentNamed("Helper", toolsFor(false), {});
  return {
    store,
    engine: createLocalEngine,
    runtime: ({ store: on, now, ids, ...parts }) => ({
      runtime: createLoop({
        ...parts,
        store: on,
        now,
        ids,
        models: onlyModel(model),
        files: undefined,
        timers,
        random: Math.random,
        subagents: createSubagents({ store: on, agentNamed: () => helper, now, ids }),
        codeOf: ({ agent }) => codes.get(agent?.name ?? "") ?? codes.get("Acting"),
      }),
      close: async () => {},
    }),
    agent: (options) => agentNamed(options.asks ? "Asking" : "Acting", toolsFor(false), options),
    prompt: (steps, label) => `Please do ${label}. ${script(steps, label)}`,
    asked: (label) => simulator.ledger.calls({ kind: "messages", label }) as readonly ModelRequestSeen[],
    calls: {
      effect: (name) => ({ name: "effect", input: { name } }),
      held: (name) => ({ name: "held", input: { name } }),
      question: (question) => ({ name: "AskUserQuestion", input: { question } }),
      frontend: (name) => ({ name: "pick", input: { name } }),
      subagent: (prompt) => ({ name: "Helper", input: { prompt } }),
    },
    effects,
    go,
    async close() {
      await simulator.close();
      await close();
    },
  };
}

describeRuntime("the loop on memory", () =>
  openLoop(
    async () => createMemoryStore(),
    async () => {},
  ),
);

describeRuntime("the loop on sqlite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-loop-"));
  let files = 0;
  return openLoop(
    () => createSqliteStore({ file: join(folder, `${(files += 1)}.db`) }),
    async () => rmSync(folder, { recursive: true, force: true }),
  );
});
