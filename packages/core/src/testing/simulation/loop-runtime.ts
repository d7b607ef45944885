import { type ContentBlock, type FactData, type JsonObject, type NewEvent, isKnownError } from "@skein/protocol";
import { createMemoryLive } from "../../live/live.ts";
import { createLoop } from "../../loop/drive.ts";
import { EVERY_ABILITY, type Model, ModelFailure, onlyModel } from "../../ports/model.ts";
import { createStateCache } from "../../log/state-cache.ts";
import type { Store } from "../../ports/store.ts";
import { defineTool } from "../../ports/tool.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { SimulatedRuntimeDeps } from "./simulated-runtime.ts";

const INPUT: JsonObject = { type: "object", properties: { n: { type: "number" } } };
const TOOL_STEPS = 4;

/** The loop runtime of the product in the simulated world, with the world's model, tools, time and ids. */
export function createLoopRuntime(deps: SimulatedRuntimeDeps): Runtime {
  const { now, sleep, ids, random, report } = deps;
  const opened: { call: Call | null } = { call: null };
  const store = watched(deps.store, opened);
  const tools = (["once", "repeatable"] as const).map((policy) =>
    defineTool({
      name: policy,
      description: "Has an effect that is counted.",
      input: INPUT,
      policy,
      run: (_, { sessionId, toolUseId }) => deps.tools.run({ sessionId, toolUseId, name: policy }),
    }),
  );
  // These calls wait for a result of the client, or for a permission. If nobody answers, the time limit ends the wait.
  const waiting = [
    defineTool({
      name: "asks",
      description: "Waits for the client.",
      input: INPUT,
      executor: "frontend",
      timeoutMs: 9000,
    }),
    defineTool({
      name: "asks_first",
      description: "Has an effect, if somebody allows it.",
      input: INPUT,
      needsApproval: true,
      timeoutMs: 9000,
      run: (_, { sessionId, toolUseId }) => deps.tools.run({ sessionId, toolUseId, name: "once" }),
    }),
  ];
  const code = {
    tools: new Map([...tools, ...waiting].map((tool) => [tool.name, tool])),
    validate: undefined,
    memory: undefined,
  };
  const loop = createLoop({
    store,
    states: createStateCache({ store }),
    codeOf: () => code,
    // An unavailable store is not reported, because the next worker continues the session.
    report: (error) => {
      if (!isKnownError(error, "store_unavailable")) report(error);
    },
    models: onlyModel(worldModel(deps, opened)),
    live: createMemoryLive(),
    files: undefined,
    subagents: undefined,
    timers: { sleep: (ms, signal) => Promise.race([sleep(Math.ceil(ms)), aborted(signal)]) },
    now,
    ids,
    random,
  });
  return {
    ...loop,
    async opening(state) {
      const events = (await loop.opening?.(state)) ?? [];
      note(opened, state.sessionId, events);
      return events;
    },
  };
}

type Call = FactData<"step.started"> & { readonly sessionId: string };

/**
 * Notes the run and the step of each `step.started` (the intent of a model call) when it is appended. The ledger of the
 * model needs them, and a request does not contain them.
 */
function watched(store: Store, opened: { call: Call | null }): Store {
  return {
    ...store,
    append(sessionId, events, options) {
      note(opened, sessionId, events);
      return store.append(sessionId, events, options);
    },
  };
}

function note(opened: { call: Call | null }, sessionId: string, events: readonly NewEvent[]): void {
  for (const event of events) if (event.event_type === "step.started") opened.call = { ...event.data, sessionId };
}

function worldModel({ model, random }: SimulatedRuntimeDeps, opened: { call: Call | null }): Model {
  return {
    abilities: { ...EVERY_ABILITY, output: false },
    prepare: () => ({ api: "none", body: {}, leftOut: [] }),
    async call({ turns: messages }) {
      const { call } = opened;
      if (!call) throw new Error("The model is asked without a stored step.started.");
      const { sessionId, run_id: runId, step } = call;
      const mayUseTools = step < TOOL_STEPS && call.purpose === "step";
      const reply = await model({ sessionId, runId, step, messages, mayUseTools });
      if ("failed" in reply) throw new ModelFailure({ code: "overloaded", message: reply.failed }, { retryable: true });
      return {
        ...reply,
        content: reply.content.map((block) => sometimesAsking(block, random)),
        model: call.model,
        containerId: null,
      };
    },
    download: () => Promise.reject(new Error("The simulated model makes no files.")),
  };
}

/** Changes some tool calls of the simulated model, so that they wait for a person or a client. */
function sometimesAsking(block: ContentBlock, random: () => number): ContentBlock {
  if (block.type !== "tool_use" || block["name"] !== "once" || random() < 0.5) return block;
  return { ...block, name: random() < 0.5 ? "asks" : "asks_first" };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
