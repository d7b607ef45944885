import { type EngineFactory, createMemoryStore, onlyModel } from "@skein/core";
import { AgentConfig } from "@skein/protocol";
import { expect, onTestFinished, test } from "vitest";
import { createHost } from "../src/host.ts";
import { openModel } from "../src/open-model.ts";
import { scripted } from "../../core/test/loop/simulated.ts";

const agent = {
  id: "01980000-0000-7000-8000-00000000000a",
  version: 1,
  status: "active" as const,
  config: AgentConfig.parse({ name: "Driven", model: "claude-sonnet-4-5" }),
};

/** An engine that runs a session only when `wake` names the session. */
const onlyWhenWoken: EngineFactory = ({ store, runtime, report }) => ({
  start() {},
  reserve: () => undefined,
  queue: () => ({ places: 0, taken: 0, waiting: 0, tenants: 0 }),
  wake(sessionId) {
    const leaseMs = 60_000;
    const validUntil = Date.now() + leaseMs;
    const drive = async (): Promise<void> => {
      const claim = await store.claim({ owner: "a test", leaseMs, sessionId });
      if (claim.kind !== "leased") return;
      const { lease, lastSequence } = claim;
      const claimed = { lease, lastSequence, clock: { validUntil }, begins: false, prolong: () => lease };
      await runtime.drive(claimed, new AbortController().signal);
    };
    drive().catch(report);
  },
  look() {},
  async stop() {},
});

test("a host runs its sessions with the engine that it was given", async () => {
  const store = createMemoryStore();
  const { model, close } = await openModel({ anthropicApiKey: undefined, anthropicBaseUrl: undefined });
  const problems: unknown[] = [];
  const host = createHost({
    store,
    models: onlyModel(model),
    agents: [{ agent, tools: new Map() }],
    engine: onlyWhenWoken,
    report: (error) => void problems.push(error),
  });
  onTestFinished(async () => {
    await host.stop();
    await close();
  });
  const { sessionId } = await host.sessions.begin(agent, scripted("Hello.", [{ text: "Good morning." }]));
  const types = async (): Promise<readonly string[]> =>
    (await host.sessions.events(sessionId)).map(({ event_type }) => event_type);
  // The local engine would have put the first step into the same append.
  expect(await types()).toEqual(["session.created", "prompt.accepted"]);
  host.engine.wake(sessionId);
  await expect.poll(types).toContain("session.completed");
  expect(problems).toEqual([]);
});
