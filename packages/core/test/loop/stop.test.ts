import { spawnSync } from "node:child_process";
import { createMemoryStore } from "@skein/core";
import { createAgent, defineTool } from "skein";
import { createSimulator } from "@skein/simulator";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { storeOf } from "../../../server/test/any-store.ts";
import { scripted, simulatedAgent } from "./simulated.ts";
import { child, collected, eventsOf, folder, storeUrl, until } from "./world.ts";

test("closing an agent waits for a tool in progress, and another agent of the same store continues after the tool", async () => {
  const simulator = await createSimulator();
  const store = createMemoryStore();
  let runs = 0;
  const slow = defineTool({
    name: "slow",
    description: "Takes a while.",
    input: z.object({}),
    async run() {
      runs += 1;
      await sleep(600);
      return "finished";
    },
  });
  const options = { name: "Stopper", apiKey: "test", baseUrl: simulator.url, store, tools: [slow] };
  const [first, second] = [createAgent(options), createAgent(options)];
  onTestFinished(async () => {
    await second.close();
    await store.close();
    await simulator.close();
  });
  const prompt = scripted("Be slow", [{ tools: [{ name: "slow", input: {} }] }, { text: "It $LAST" }]);
  const running = expect(first.run(prompt)).rejects.toMatchObject({ code: "closed" });
  await until(() => runs === 1);
  const sessions = await first.sessions();
  const [session] = (await sessions.list()).items;
  const started = Date.now();
  await first.close();
  expect(Date.now() - started).toBeLessThan(5000);
  const result = await second.resume(session?.id ?? "");
  expect(result).toMatchObject({ finalAnswer: "It finished", stopReason: "end_turn" });
  expect(runs).toBe(1);
  await running;
});

test("an agent that is closed in the middle of the model's answer records the reported usage", async () => {
  const store = storeUrl("sqlite");
  const { agent: first, simulator } = await simulatedAgent({ store });
  const prompt = scripted("hand over", [{ text: "Half of it.", chunk: 4, hang: { afterChunks: 2, times: 1 } }]);
  let seen = "";
  const followed = async (): Promise<void> => {
    for await (const event of first.stream(prompt))
      if (event.event_type === "step.generating") seen += event.data.delta;
  };
  const running = expect(followed()).rejects.toMatchObject({ code: "closed" });
  const sessions = await first.sessions();
  const { id } = await until(async () => (await sessions.list()).items[0]);
  await until(() => seen === "Half of ");
  await first.close();
  await running;
  const second = createAgent({ apiKey: "test", baseUrl: simulator.url, store });
  onTestFinished(() => second.close());
  expect(await second.resume(id)).toMatchObject({ finalAnswer: "Half of it." });
  const [call] = simulator.ledger.calls({ kind: "messages", label: "hand over" });
  const lost = await eventsOf(second, id, "step.abandoned");
  const { input_tokens } = call?.usage ?? {};
  expect(lost).toHaveLength(1);
  expect(lost[0]?.data).toMatchObject({
    reason: "handed_over",
    estimated: true,
    usage: { input_tokens, output_tokens: 2 },
  });
  // The text is not kept, because the model's next answer replaces it.
  expect(lost[0]?.data.content).toBeUndefined();
});

test.each(["memory", "sqlite"] as const)(
  "a caller that waits for a run gets an error if the agent is closed or the session is deleted (%s)",
  async (kind) => {
    const { agent, simulator } = await simulatedAgent({ store: storeUrl(kind) });
    const hangs = (label: string): string => scripted(label, [{ text: "Half", chunk: 2, hang: { afterChunks: 1 } }]);
    const deleted = agent.run(hangs("deleted"));
    await until(() => simulator.ledger.calls({ label: "deleted", outcome: "open" }).length);
    const sessions = await agent.sessions();
    const [session] = (await sessions.list()).items;
    await Promise.all([
      expect(deleted).rejects.toMatchObject({ code: "not_found", message: expect.stringContaining("deleted") }),
      sessions.delete(session?.id ?? ""),
    ]);
    const watching: readonly Promise<unknown>[] = [
      agent.run(hangs("run")),
      collected(agent.stream(hangs("stream"))),
      collected(agent.text(hangs("text"))),
    ];
    const told = watching.map((ends) =>
      expect(ends).rejects.toMatchObject({ code: "closed", message: expect.stringContaining('resume("') }),
    );
    await until(() => simulator.ledger.calls({ outcome: "open" }).length === 3);
    await agent.close();
    await Promise.all(told);
  },
);

test.each(["memory", "sqlite", "postgres"] as const)(
  "a program stays alive only while it waits for something (%s)",
  async (kind) => {
    const simulator = await createSimulator();
    onTestFinished(() => simulator.close());
    const call = { name: "pick", input: { of: ["red"] }, id: "toolu_1" };
    const prompt = scripted(`waits ${kind}`, [{ tools: [call] }, { text: "So: $LAST" }]);
    const program = child("waits.ts", await storeOf(kind, folder()), simulator.url, prompt);
    expect(await program.line()).toMatchObject({ stopReason: "awaiting_frontend_tools" });
    expect(await program.line()).toEqual({ finalAnswer: "So: No result returned for this tool call." });
    expect(await program.exit()).toBe(0);
  },
);

test("a program that uses the simulator and forgets to close its agent ends by itself", () => {
  const said = programOf(`
    const { createAgent } = await import("skein");
    console.log((await createAgent().run("How much is 2+2?")).finalAnswer);`);
  expect(said).toEqual({ status: 0, stdout: expect.stringContaining("The answer is 4") });
});

test.each(["sqlite", "postgres"] as const)(
  "after a program has closed its agent, it continues and ends (%s)",
  async (kind) => {
    const store = await storeOf(kind, folder());
    const said = programOf(`
    const { createAgent } = await import("skein");
    const agent = createAgent({ store: ${JSON.stringify(store)} });
    await Promise.all(Array.from({ length: 8 }, () => agent.run("Hello")));
    await agent.close();
    console.log("closed");`);
    expect(said).toEqual({ status: 0, stdout: "closed\n" });
  },
);

function programOf(text: string): { readonly status: number | null; readonly stdout: string } {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const { status, stdout } = spawnSync(
    process.execPath,
    ["--conditions=@skein/source", "--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", text],
    { encoding: "utf8", env: { PATH, NODE_COMPILE_CACHE }, timeout: 20_000 },
  );
  return { status, stdout };
}
