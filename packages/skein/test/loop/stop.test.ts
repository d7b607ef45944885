import { createMemoryStore } from "@skein/core";
import { createAgent, defineTool } from "skein";
import { createSimulator } from "@skein/simulator";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { scripted } from "./simulated.ts";

test("a process that stops lets a running tool finish, and another one goes on after it", async () => {
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
  const running = first.run(prompt).catch(() => undefined);
  await expect.poll(() => runs).toBe(1);
  const sessions = await first.sessions();
  const [session] = (await sessions.list()).items;
  const started = Date.now();
  await first.close();
  expect(Date.now() - started).toBeLessThan(5000);
  const result = await second.resume(session?.id ?? "");
  expect(result).toMatchObject({ finalAnswer: "It finished", stopReason: "end_turn" });
  expect(runs).toBe(1);
  void running;
});
