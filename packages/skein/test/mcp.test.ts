import { fileURLToPath } from "node:url";
import { connectMcpServer } from "skein";
import { expect, onTestFinished, test } from "vitest";
import { scripted, simulatedAgent } from "../../core/test/loop/simulated.ts";
import { eventsOf, expectUsable } from "../../core/test/loop/world.ts";

const program = fileURLToPath(new URL("../../adapters/test/mcp-server.ts", import.meta.url));

test("an agent uses the tools of an MCP server, and if the server dies during a call, the call gets an error result and the run continues", async () => {
  const server = await connectMcpServer({
    name: "test",
    command: process.execPath,
    args: [program],
    callTimeoutMs: 15_000,
  });
  onTestFinished(() => server.close());
  const { agent, simulator } = await simulatedAgent({ tools: server.tools });
  const result = await agent.run(
    scripted("Use it", [
      { tools: [{ name: "mcp__test__add", input: { a: 20, b: 22 } }] },
      { tools: [{ name: "mcp__test__die" }] },
      { tools: [{ name: "mcp__test__giant" }] },
      { tools: [{ name: "mcp__test__add", input: { a: 1, b: 1 } }] },
      { text: "Sum: $LAST" },
    ]),
  );
  expect(result).toMatchObject({ error: null, finalAnswer: "Sum: 2", totalSteps: 5 });
  const outcomes = (await eventsOf(agent, result.sessionId, "tool.completed")).map(({ data }) => [
    data.name.slice("mcp__test__".length),
    data.outcome,
  ]);
  expect(outcomes).toEqual(
    expect.arrayContaining([
      ["add", "committed"],
      ["die", "failed"],
      ["giant", "failed"],
    ]),
  );
  const told = (await eventsOf(agent, result.sessionId, "runtime.noticed")).map(({ data }) => data.notice["text"]);
  expect(told).toContainEqual(expect.stringMatching(/^The connection to the MCP server "test" broke/));
  expect(server.notices).toEqual(expect.arrayContaining(told));
  expect(new Set(told).size).toBe(told.length);
  expect(simulator.ledger.totals().outcomes.rejected).toBe(0);
  await expectUsable(agent, result.sessionId);
});
