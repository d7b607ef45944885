/** A process that runs sessions with real tools until it is killed. Its task is JSON in its argument. */
import { createLocalEngine } from "@skein/adapters/engines/local";
import { isDeadOwner, thisOwner } from "@skein/adapters/engines/owner";
import { timers } from "@skein/adapters/engines/timers";
import {
  type Tool,
  createLoop,
  createMemoryLive,
  createSessions,
  createStateCache,
  defineTool,
  onlyModel,
} from "@skein/core";
import { createIds } from "@skein/protocol";
import { z } from "zod";
import { agent, begunLine } from "./loop-agent.ts";
import type { Beginning } from "./loop-client.ts";
import { type AdapterName, openLoopModel } from "./loop-models.ts";
import { type Place, type StoreName, openStore } from "./open-store.ts";

export interface LoopWorkerTask {
  readonly store: StoreName;
  readonly place: Place;
  readonly modelUrl: string;
  readonly adapter: AdapterName;
  readonly effectsUrl: string;
  readonly leaseMs: number;
  /** The session that the worker must create. */
  readonly begin?: Beginning;
}

const task = JSON.parse(process.argv[2] ?? "{}") as LoopWorkerTask;

/** Defines a tool with an effect that is counted outside of Skein. */
function effect(name: string, policy: "once" | "repeatable"): Tool {
  return defineTool({
    name,
    description: `Has an effect (${policy}).`,
    input: z.object({ n: z.number() }),
    policy,
    async run(_input, { sessionId, toolUseId, signal }) {
      const query = new URLSearchParams({ session: sessionId, call: toolUseId, policy, by: String(process.pid) });
      const response = await fetch(`${task.effectsUrl}/?${query}`, { method: "POST", signal });
      return response.text();
    },
  });
}

const store = await openStore(task.store, task.place);
const tools = new Map([effect("act_once", "once"), effect("act_again", "repeatable")].map((tool) => [tool.name, tool]));
const report = (error: unknown): void => console.error("worker:", error);
const now = Date.now;
const loop = createLoop({
  store,
  states: createStateCache({ store }),
  models: onlyModel(openLoopModel(task.adapter, task.modelUrl)),
  live: createMemoryLive(),
  files: undefined,
  subagents: undefined,
  codeOf: () => ({ tools, validate: undefined, memory: undefined }),
  timers,
  now,
  ids: createIds(),
  random: Math.random,
  report,
});
const engine = createLocalEngine({
  store,
  runtime: loop,
  owner: thisOwner(),
  isDead: isDeadOwner,
  leaseMs: task.leaseMs,
  report,
});
engine.start();
process.stdout.write("ready\n");
if (task.begin) {
  const { sessionId, title, text } = task.begin;
  const sessions = createSessions({ store, reserve: engine.reserve });
  void sessions
    .begin(agent, text, { id: sessionId, title })
    .then(({ messageId }) => process.stdout.write(begunLine(messageId)), report);
}
process.on("SIGTERM", () => void engine.stop().then(() => process.exit(0)));
// This timer keeps the process alive, because the engine's timers do not.
setInterval(() => {}, 60_000);
