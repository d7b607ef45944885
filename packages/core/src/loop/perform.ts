import { type Content, type Fact, type Failure, type Ids, textOf } from "@skein/protocol";
import type { Live } from "../live.ts";
import type { Model } from "../model.ts";
import type { FileStore, MemoryStore, Subagents, Timers } from "../ports.ts";
import type { RunState, SessionState } from "../state.ts";
import { type Tool, resultContent } from "../tool.ts";
import { compact } from "./compaction.ts";
import { cancelledCall } from "./decide-calls.ts";
import type { Effect } from "./decision.ts";
import { toolCompleted } from "./facts.ts";
import { finalResponse } from "./decide.ts";
import { callModel } from "./call-model.ts";
import { storeFile } from "./store-file.ts";

/** Checks a final answer; a sentence says what is wrong with it, and goes back to the model. */
export type Validate = (answer: string, state: SessionState) => Promise<string | undefined> | string | undefined;

/** Everything outside that the loop touches. */
export interface PerformDeps {
  readonly model: Model;
  readonly live: Live;
  readonly files: FileStore | undefined;
  readonly memory: MemoryStore | undefined;
  readonly subagents: Subagents | undefined;
  readonly validate: Validate | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly timers: Timers;
  readonly now: () => number;
  readonly ids: Ids;
  readonly random: () => number;
}

/**
 * Does what was decided, and answers with what came of it as facts. The only place with side effects.
 *
 * It never throws: what goes wrong is a fact, or nothing if the signal ended it.
 */
export async function perform(
  effect: Effect,
  state: SessionState,
  deps: PerformDeps,
  signal: AbortSignal,
): Promise<readonly Fact[]> {
  const current = state.run as RunState;
  const inStep = { run_id: current.runId, step: current.step };
  const started = deps.now();
  const took = (): number => Math.max(0, deps.now() - started);
  switch (effect.kind) {
    case "call-model":
      return callModel(state, current, deps, signal);
    case "run-tool":
      return runTool(state, current, effect.toolUseId, deps, signal);
    case "start-subagent":
      return startSubagent(state, current, effect.toolUseId, deps);
    case "cancel-subagent": {
      const call = current.calls.find(({ toolUseId }) => toolUseId === effect.toolUseId);
      await deps.subagents?.cancel({ state, toolUseId: effect.toolUseId });
      return call ? cancelledCall(current, call) : [];
    }
    case "inform-parent": {
      const { session_id, tool_use_id } = state.subagentOf as NonNullable<SessionState["subagentOf"]>;
      await deps.subagents?.inform(
        { session_id, tool_use_id },
        { content: effect.problem ?? finalResponse(state), isError: effect.problem !== null },
      );
      return [{ event_type: "parent.informed", data: { ...inStep, session_id, tool_use_id } }];
    }
    case "store-file":
      return storeFile(state, current, effect.fileId, deps, signal);
    case "retrieve-memory": {
      const query = textOf(current.prompt.content);
      const nothing: Remembered = { found: 0, memories: [] };
      const [found, failed] = await attempt(nothing, () => deps.memory?.retrieve({ state, query }));
      return [
        {
          event_type: "memory.retrieved",
          data: {
            ...inStep,
            messages_count: state.transcript.length,
            estimated_tokens: state.contextTokens,
            duration_ms: took(),
            memories_found: found.found,
            memories_injected: found.memories.length,
            memory_store_type: deps.memory?.type ?? "none",
            injected: [...found.memories],
            ...failed,
          },
        },
      ];
    }
    case "update-memory": {
      const answer = finalResponse(state);
      const [written, failed] = await attempt(0, () => deps.memory?.update({ state, answer }));
      return [
        {
          event_type: "memory.updated",
          data: {
            ...inStep,
            memories_written: written,
            memory_store_type: deps.memory?.type ?? "none",
            duration_ms: took(),
            ...failed,
          },
        },
      ];
    }
    case "compact":
      return compact(state, current, deps);
    case "validate": {
      const problem = await problemWith(finalResponse(state), state, deps.validate);
      const validated: Fact = {
        event_type: "answer.validated",
        data: { ...inStep, passed: problem === undefined, reason: problem ?? null },
      };
      return problem === undefined ? [validated] : [validated, correction(problem, deps.ids)];
    }
    case "wait":
      await deps.timers.sleep(Math.max(0, effect.until - deps.now()), signal);
      return [];
  }
}

type Remembered = Awaited<ReturnType<MemoryStore["retrieve"]>>;

/** A memory that fails is said to have, and the run goes on without it. */
async function attempt<T>(
  otherwise: T,
  call: () => Promise<T> | undefined,
): Promise<readonly [T, { failed?: true; error?: Failure }]> {
  try {
    return [(await call()) ?? otherwise, {}];
  } catch (error) {
    return [otherwise, { failed: true, error: { code: "memory_error", message: problemOf(error) } }];
  }
}

/** A check that cannot be made does not pass: nobody has seen that the answer is right. */
async function problemWith(
  answer: string,
  state: SessionState,
  validate: Validate | undefined,
): Promise<string | undefined> {
  try {
    return await validate?.(answer, state);
  } catch (error) {
    return `The check of this answer failed: ${problemOf(error)}`;
  }
}

/** What is wrong with an answer goes back to the model as the user's word. */
function correction(problem: string, ids: Ids): Fact {
  return {
    event_type: "prompt.accepted",
    data: { message_id: ids(), run_id: ids(), mode: "steer", content: problem, model: null, max_cost_micros: null },
  };
}

async function startSubagent(
  state: SessionState,
  current: RunState,
  toolUseId: string,
  deps: PerformDeps,
): Promise<readonly Fact[]> {
  const call = current.calls.find((candidate) => candidate.toolUseId === toolUseId);
  const tool = call && deps.tools.get(call.name);
  if (!call || !tool?.subagent || !deps.subagents) return [];
  const begun = await deps.subagents.start({ state, toolUseId, agent: tool.subagent, input: call.input });
  if ("problem" in begun)
    return [toolCompleted(current, call, { outcome: "failed", content: begun.problem, isError: true, durationMs: 0 })];
  const expiresAt = tool.timeoutMs === null ? null : new Date(deps.now() + tool.timeoutMs).toISOString();
  const opened = {
    tool_use_id: toolUseId,
    kind: "subagent" as const,
    name: call.name,
    input: call.input,
    expires_at: expiresAt,
  };
  return [
    {
      event_type: "await.opened",
      data: { run_id: current.runId, step: current.step, awaits: [{ ...opened, session_id: begun.sessionId }] },
    },
  ];
}

async function runTool(
  state: SessionState,
  current: RunState,
  toolUseId: string,
  deps: PerformDeps,
  signal: AbortSignal,
): Promise<readonly Fact[]> {
  const call = current.calls.find((candidate) => candidate.toolUseId === toolUseId);
  const tool = call && deps.tools.get(call.name);
  if (!call || !tool) return [];
  const started = deps.now();
  const outcome = await outcomeOf(tool, call.input, {
    sessionId: state.sessionId,
    runId: current.runId,
    toolUseId,
    idempotencyKey: `${state.sessionId}/${toolUseId}`,
    workingDirectory: state.workingDirectory,
    signal,
    timers: deps.timers,
  });
  if (signal.aborted) return [];
  return [toolCompleted(current, call, { ...outcome, durationMs: Math.max(0, deps.now() - started) })];
}

interface ToolOutcome {
  readonly outcome: "committed" | "failed";
  readonly content: Content;
  readonly isError: boolean;
}

async function outcomeOf(
  tool: Tool,
  input: unknown,
  { timers, ...context }: Parameters<Tool["run"]>[1] & { readonly timers: Timers },
): Promise<ToolOutcome> {
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  try {
    const work = tool.run(tool.parse(input), { ...context, signal });
    const output = await (tool.timeoutMs === null ? work : Promise.race([work, timeout(tool, timers, stop)]));
    return { outcome: "committed", content: resultContent(output), isError: false };
  } catch (error) {
    return { outcome: "failed", content: problemOf(error), isError: true };
  } finally {
    stop.abort();
  }
}

async function timeout(tool: Tool, timers: Timers, stop: AbortController): Promise<never> {
  await timers.sleep(tool.timeoutMs ?? 0, stop.signal);
  throw new Error(`The tool "${tool.name}" did not answer within ${tool.timeoutMs} ms.`);
}

/** What the model is told about a failure: the sentence, never a stack. */
function problemOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return resultContent(message || "The tool failed without saying why.") as string;
}
