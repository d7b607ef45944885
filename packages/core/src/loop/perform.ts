import { type AgentConfig, type Fact, type Ids, addPicos, textOf } from "@skein/protocol";
import { reservedMicros } from "../log/reservations.ts";
import type { Live } from "../live/live.ts";
import type { ModelCatalog } from "../ports/model.ts";
import type { AgentMemory } from "../ports/agent-memory.ts";
import type { FileStore } from "../ports/file-store.ts";
import type { Subagents } from "../ports/subagents.ts";
import { LONGEST_SLEEP, type Timers } from "../ports/timers.ts";
import { answerValidated, memoryRetrieved, memoryUpdated, parentInformed } from "../run/facts/index.ts";
import { finalResponse } from "../run/rules.ts";
import { promptAccepted } from "../sessions/session-facts.ts";
import type { RunState, SessionState } from "../log/state.ts";
import type { Tool } from "../ports/tool.ts";
import { MEMORY_ANSWERS, askMemory } from "./ask-memory.ts";
import { compact } from "./compaction.ts";
import { cancelledCall } from "./decide-calls.ts";
import { type SpendGate, type Spending, mostInputTokens } from "../shares/spend-gate.ts";
import { type Checks, type Effect, stepName } from "./decision.ts";
import { stepToRun } from "./decide-step.ts";
import { type Hooks, hookModelCall, hookToolCall } from "./hooks.ts";
import { callOf, modelOf, outputLimit } from "./request.ts";
import { type CallDeps, callModel } from "./call-model.ts";
import { type ToolDeps, problemOf, runTool, startSubagent } from "./run-tool.ts";
import { storeFile } from "./store-file.ts";

/**
 * The result of a validation. Nothing or `true` means a valid answer. A sentence describes the problem. In a pair, the
 * boolean says whether the answer is valid, and the sentence describes the problem.
 */
type Verdict =
  | string
  | boolean
  | null
  | undefined
  | void
  | readonly [passed: boolean, reason?: string | null | undefined];

/** Validates a final answer. A problem is sent to the model. */
export type Validate = (answer: string, state: SessionState) => Verdict | Promise<Verdict>;

export interface PerformDeps {
  readonly models: ModelCatalog;
  readonly live: Live;
  readonly files: FileStore | undefined;
  readonly memory: AgentMemory | undefined;
  readonly subagents: Subagents | undefined;
  readonly validate: Validate | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly workplaceOf?: ToolDeps["workplaceOf"];
  readonly timers: Timers;
  readonly now: () => number;
  readonly ids: Ids;
  readonly random: () => number;
  readonly arriving: CallDeps["arriving"];
  readonly hooks?: Hooks | undefined;
  readonly checks: Checks;
  /** Reserves money before each call, if the operator has caps. */
  readonly spend?: SpendGate | undefined;
  /** Receives the result of a reservation. */
  readonly paid: (key: string, answer: Spending) => void;
}

/**
 * Performs an effect and returns its facts. All side effects of the loop are here. An error of a model, a tool, a hook,
 * a memory or a file becomes a fact. An effect that the signal ended has no facts.
 */
export async function perform(
  effect: Effect,
  state: SessionState,
  deps: PerformDeps,
  signal: AbortSignal,
): Promise<readonly Fact[]> {
  const current = state.run as RunState;
  const started = deps.now();
  const took = (): number => Math.max(0, deps.now() - started);
  const memoryType = deps.memory?.type ?? "none";
  switch (effect.kind) {
    case "call-model": {
      const facts = await callModel(state, current, deps, signal);
      if (deps.spend?.applies(state)) await deps.spend.settle(state, facts);
      return facts;
    }
    case "reserve-spend": {
      const model = modelOf(state);
      const { price, simulated } = deps.models.named(state.tenant, model);
      const call = { model, price, simulated, inputTokens: mostInputTokens(state), maxTokens: effect.maxTokens };
      if (deps.spend) deps.paid(effect.key, await deps.spend.reserve(state, call, signal));
      return [];
    }
    case "hook-model": {
      const { hooks, checks } = deps;
      const asked = callOf(state, stepToRun(state, current), outputLimit(state.agent as AgentConfig));
      const facts =
        hooks?.beforeModelCall && (await hookModelCall(asked, hooks.beforeModelCall, { ...deps, state, signal }));
      checks.seen.add(stepName(current));
      return facts ?? [];
    }
    case "hook-call": {
      const call = current.calls.find(({ toolUseId }) => toolUseId === effect.toolUseId);
      const hook = deps.hooks?.beforeToolCall;
      const facts = call && hook ? await hookToolCall(call, hook, { ...deps, state, signal }) : [];
      deps.checks.seen.add(effect.toolUseId);
      return facts;
    }
    case "check-approval": {
      const { approvals } = deps.checks;
      // If a rule throws, a person decides.
      const asks = await Promise.resolve(approvals.get(effect.toolUseId)).catch(() => true);
      approvals.set(effect.toolUseId, asks !== false);
      return [];
    }
    case "run-tool":
      return runTool(state, effect.toolUseId, deps, signal);
    case "start-subagent":
      return startSubagent(state, effect.toolUseId, deps);
    case "cancel-subagent": {
      const call = current.calls.find(({ toolUseId }) => toolUseId === effect.toolUseId);
      await deps.subagents?.cancel({ state, toolUseId: effect.toolUseId });
      return call ? cancelledCall(current, call, deps.now()) : [];
    }
    case "inform-parent": {
      const { session_id, tool_use_id } = state.subagentOf as NonNullable<SessionState["subagentOf"]>;
      await deps.subagents?.inform(
        { session_id, tool_use_id },
        {
          content: effect.problem ?? finalResponse(state),
          isError: effect.problem !== null,
          costPicos: addPicos(current.costPicos, BigInt(current.delegatedPicos)),
          reservedMicros: reservedMicros(state, deps.now()),
        },
      );
      return [parentInformed(current, { session_id, tool_use_id })];
    }
    case "store-file":
      return storeFile(state, effect.fileId, deps, signal);
    case "retrieve-memory": {
      const query = textOf(current.prompt.content);
      const nothing: Remembered = { found: 0, memories: [] };
      const ask = () => deps.memory?.retrieve({ state, query });
      const [found, failed] = await askMemory<Remembered>(MEMORY_ANSWERS.retrieve, nothing, ask);
      return [memoryRetrieved(current, state, { ...found, type: memoryType, durationMs: took(), failed })];
    }
    case "update-memory": {
      const answer = finalResponse(state);
      const [written, failed] = await askMemory(MEMORY_ANSWERS.update, 0, () => deps.memory?.update({ state, answer }));
      return [memoryUpdated(current, { written, type: memoryType, durationMs: took(), failed })];
    }
    case "compact":
      return compact(state, current, deps);
    case "validate": {
      const problem = await problemWith(finalResponse(state), state, deps.validate);
      const validated = answerValidated(current, problem);
      return problem === undefined || !effect.asksAgain ? [validated] : [validated, correction(problem, deps.ids)];
    }
    case "wait":
      await deps.timers.sleep(Math.min(Math.max(0, effect.until - deps.now()), LONGEST_SLEEP), signal);
      return [];
  }
}

type Remembered = Awaited<ReturnType<AgentMemory["retrieve"]>>;

/**
 * Returns the problem of an answer; undefined if the answer is valid. If the validation throws, this is a problem too.
 */
async function problemWith(
  answer: string,
  state: SessionState,
  validate: Validate | undefined,
): Promise<string | undefined> {
  try {
    return problemIn(await validate?.(answer, state));
  } catch (error) {
    return `The check of this answer failed: ${problemOf(error)}`;
  }
}

/**
 * Returns the problem in a verdict. Untyped code may return anything: undefined, null, an empty text, true, and a list
 * that begins with true mean a valid answer. Every other value is a problem.
 */
function problemIn(verdict: unknown): string | undefined {
  const unsaid = "This answer did not pass its check.";
  if (Array.isArray(verdict)) {
    const [passed, reason] = verdict as readonly unknown[];
    if (passed === true) return undefined;
    return typeof reason === "string" && reason !== "" ? reason : unsaid;
  }
  if (verdict === undefined || verdict === null || verdict === "" || verdict === true) return undefined;
  return typeof verdict === "string" ? verdict : unsaid;
}

/** A user message that tells the model what is wrong with its answer. */
function correction(problem: string, ids: Ids): Fact {
  return promptAccepted({ message_id: ids(), run_id: ids(), mode: "steer", content: problem });
}
