import { createMemoryStore } from "@skein/core";
import type { Event } from "@skein/protocol";
import { defineTool } from "skein";
import { expect, test } from "vitest";
import { z } from "zod";
import { scripted, simulatedAgent } from "./simulated.ts";
import { collected } from "./world.ts";

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
});

test("a run calls a tool and passes its result to the model", async () => {
  const { agent, simulator } = await simulatedAgent({ tools: [add] });
  const result = await agent.run(
    scripted("Add", [{ text: "Adding.", tools: [{ name: "add", input: { a: 2, b: 2 } }] }, { text: "It is $LAST" }]),
  );
  expect(result).toMatchObject({ finalAnswer: "It is 4", totalSteps: 2, stopReason: "end_turn" });
  const { usage, cost, model } = result;
  const cost_micros = Math.round((cost?.total_cost ?? 0) * 1e6);
  expect(result.models).toMatchObject([{ model, ...usage, cost_micros, unpriced_calls: 0 }]);
  expect(result.agentLogs.map(({ actionType }) => actionType)).toEqual([
    "run_started",
    "context_transformation",
    "api_call_started",
    "api_response_received",
    "context_transformation",
    "tool_execution",
    "context_transformation",
    "api_call_started",
    "api_response_received",
    "context_transformation",
    "run_completed",
  ]);
  expect(simulator.ledger.totals().calls).toBe(2);
});

test("one append stores a new session and the intent of its first model call, and the run is not resumed", async () => {
  const store = createMemoryStore();
  const appends: string[][] = [];
  const { agent } = await simulatedAgent({
    tools: [add],
    store: {
      ...store,
      append(sessionId, events, options) {
        appends.push(events.map(({ event_type }) => event_type));
        return store.append(sessionId, events, options);
      },
    },
  });
  const prompt = scripted("Add", [{ tools: [{ name: "add", input: { a: 2, b: 2 } }] }, { text: "It is $LAST" }]);
  expect(await agent.run(prompt)).toMatchObject({ finalAnswer: "It is 4" });
  expect(appends).toEqual([
    ["session.created", "prompt.accepted", "session.started", "message.created", "step.started"],
    ["step.generated", "message.created", "tool.started"],
    ["tool.completed", "message.created", "step.started"],
    ["step.generated", "message.created", "session.completed"],
  ]);
});

test("even if the store is late, a stream shows the text of a step only after the results of earlier calls", async () => {
  const store = createMemoryStore();
  async function* late(events: AsyncIterable<Event>): AsyncGenerator<Event> {
    for await (const event of events) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      yield event;
    }
  }
  const { agent } = await simulatedAgent({
    tools: [add],
    store: { ...store, follow: (...args) => late(store.follow(...args)) },
  });
  const prompt = scripted("Late", [
    { text: "Adding.", tools: [{ name: "add", input: { a: 2, b: 2 } }] },
    { text: "It is $LAST" },
  ]);
  const seen = await collected(agent.stream(prompt));
  expect(seen.map(({ event_type }) => event_type)).toEqual([
    "session.created",
    "prompt.accepted",
    "session.started",
    "message.created",
    "step.started",
    "step.generating",
    "message.delta",
    "step.generated",
    "message.created",
    "tool.started",
    "tool.completed",
    "message.created",
    "step.started",
    "step.generating",
    "message.delta",
    "step.generated",
    "message.created",
    "session.completed",
  ]);
});
