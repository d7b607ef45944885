/**
 * Claude Code without an API key and without a model's address: the built-in simulation answers, and every interface
 * says so.
 */
import { callIn } from "@skein/core";
import { Event } from "@skein/protocol";
import { script } from "@skein/simulator";
import { expect, onTestFinished, test } from "vitest";
import { claudeServer } from "./server.ts";

test("answers of the built-in simulation through Claude Code are marked and cost nothing, and totals of costs leave them out", async () => {
  const server = await claudeServer({ anthropicApiKey: undefined, anthropicBaseUrl: undefined });
  onTestFinished(server.close);
  const helper = { description: "Helps.", prompt: "You help.", tools: ["Bash"] };
  const asked = script([{ text: "Looked." }], "helper");
  const call = { name: "Agent", input: { description: "Look", subagent_type: "helper", prompt: `Look. ${asked}` } };
  const { body: single } = await server.call("POST", "/api/v1/query/single", {
    prompt: `Please. ${script([{ tools: [call] }, { text: "Done." }], "simulated")}`,
    agents: { helper },
    allowed_tools: ["Agent"],
  });
  expect(single).toMatchObject({
    result: "Done.",
    simulated: true,
    total_cost_usd: 0,
    usage: { output_tokens: expect.any(Number) },
  });
  const path = `/sessions/${String(single["session_id"])}`;
  const { body: session } = await server.call("GET", `/api/v1${path}`);
  expect(session).toMatchObject({ simulated: true, total_cost_usd: 0 });
  const { body: usage } = await server.call("GET", "/v1/usage?group_by=model");
  expect(usage.data).toEqual([expect.objectContaining({ cost_picos: "0", unpriced_calls: 0 })]);
  expect(usage.data[0]?.["simulated_calls"]).toBeGreaterThanOrEqual(3);
  const { body: log } = await server.call("GET", `/v1${path}/events?limit=1000`);
  const events = Event.array().parse(log.data);
  const calls = events.flatMap((event) => callIn(event) ?? []);
  expect(calls).toHaveLength(usage.data[0]?.["simulated_calls"] as number);
  expect(events.map(({ event_type }) => event_type)).toContain("subagent.messaged");
  for (const one of calls) expect(one).toMatchObject({ simulated: true, cost: { total_micros: 0 } });
  const { body: messages } = await server.call("GET", `/api/v1${path}/messages?page_size=100`);
  const result = (messages.messages as { content: unknown }[]).at(-1)?.content;
  expect(result).toMatchObject({ simulated: true, total_cost_usd: 0 });
  expect(JSON.stringify([log, messages])).not.toMatch(/"(?:costUSD|cost_usd|total_cost_usd)":(?!0\b|null)/);
});
