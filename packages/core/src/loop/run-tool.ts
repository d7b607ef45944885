import { type Content, type Fact, splitAmount } from "@skein/protocol";
import type { Workplace } from "../ports/sandbox.ts";
import type { Subagents } from "../ports/subagents.ts";
import { LONGEST_SLEEP, type Timers } from "../ports/timers.ts";
import { leftToSpend } from "../run/budget.ts";
import { awaitOpened, toolClosed, toolCompleted } from "../run/facts/index.ts";
import type { CallState, RunState, SessionState } from "../log/state.ts";
import { type Hooks, callHook } from "./hooks.ts";
import { type Tool, resultContent } from "../ports/tool.ts";

export interface ToolDeps {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly hooks?: Hooks | undefined;
  readonly timers: Timers;
  readonly now: () => number;
  /**
   * Returns the folder and the sandbox for programs of a session. Undefined if this process does not restrict programs.
   */
  readonly workplaceOf?:
    | ((session: Pick<SessionState, "sessionId" | "tenant" | "agent">) => Promise<Workplace>)
    | undefined;
}

type WorkplaceOf = NonNullable<ToolDeps["workplaceOf"]>;

/** Starts the session of a subagent for a call, and opens the await for its answer. */
export async function startSubagent(
  state: SessionState,
  toolUseId: string,
  deps: ToolDeps & { readonly subagents: Subagents | undefined },
): Promise<readonly Fact[]> {
  const current = state.run as RunState;
  const call = current.calls.find((candidate) => candidate.toolUseId === toolUseId);
  const tool = call && deps.tools.get(call.name);
  if (!call || !tool?.subagent || !deps.subagents) return [];
  const begun = await deps.subagents.start({
    state,
    toolUseId,
    agent: tool.subagent,
    input: call.input,
    maxCostMicros: shareOf(state, current, deps),
  });
  if ("problem" in begun) return [toolClosed(current, call, { outcome: "failed", content: begun.problem })];
  const expiresAt = tool.timeoutMs === null ? null : deps.now() + tool.timeoutMs;
  return [awaitOpened(current, [{ ...call, kind: "subagent", expiresAt, sessionId: begun.sessionId }])];
}

/**
 * Returns the budget of a subagent: its share of the run's remaining budget. Subagents in parallel get equal shares.
 * Null if the run has no budget.
 */
function shareOf(state: SessionState, current: RunState, { tools, now }: ToolDeps): number | null {
  const left = leftToSpend(state, current, now());
  if (left === null) return null;
  const open = current.calls.filter(({ name, phase }) => phase !== "done" && tools.get(name)?.subagent !== undefined);
  return Math.max(0, splitAmount(left / BigInt(Math.max(1, open.length))).micros);
}

/** Runs a tool of this process. The model gets a result even if the tool fails. */
export async function runTool(
  state: SessionState,
  toolUseId: string,
  deps: ToolDeps,
  signal: AbortSignal,
): Promise<readonly Fact[]> {
  const current = state.run as RunState;
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
    ...(deps.workplaceOf && { workplace: () => (deps.workplaceOf as WorkplaceOf)(state) }),
    timers: deps.timers,
  });
  if (signal.aborted) return [];
  const durationMs = Math.max(0, deps.now() - started);
  const hooked = await afterHook(state, call, outcome, { ...deps, signal });
  if (signal.aborted) return [];
  const result = { ...outcome, ...hooked.result };
  const content = call.isChanged ? withChange(call.input, result.content) : result.content;
  return [...hooked.facts, toolCompleted(current, call, { ...result, content, durationMs })];
}

/** Applies the agent's hook to a result. The hook cannot undo that the tool has run. */
async function afterHook(
  state: SessionState,
  { toolUseId, name, input }: CallState,
  { content, isError }: ToolOutcome,
  { hooks, now, signal }: ToolDeps & { readonly signal: AbortSignal },
): Promise<{ readonly result?: Omit<ToolOutcome, "outcome">; readonly facts: readonly Fact[] }> {
  const hook = hooks?.afterToolCall;
  if (!hook) return { facts: [] };
  const call = { toolUseId, name, input };
  const about = { ...call, content, isError };
  const { change, refusal, facts } = await callHook(
    { event: "after_tool_call", hook, about, call },
    { state, signal, now },
  );
  if (refusal !== undefined) return { result: { content: refusal, isError: true, output: undefined }, facts };
  return change ? { result: { content: resultContent(change.content), isError }, facts } : { facts };
}

/** Tells the model that its tool call ran with another input, because the model only knows the input that it sent. */
function withChange(input: unknown, content: Content): Content {
  const note = `Before this call ran, its input was changed to ${JSON.stringify(input)}.`;
  return typeof content === "string" ? `${note}\n${content}` : [{ type: "text", text: note }, ...content];
}

interface ToolOutcome {
  readonly outcome: "committed" | "failed";
  readonly content: Content;
  readonly isError: boolean;
  /** What the tool returned, for a tool with an output schema. */
  readonly output?: unknown;
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
    // The abort ends the timer. It has a reason, because an abort without a reason creates an error with a stack
    // trace.
    stop.abort("done");
    const read = tool.readOutput ? await tool.readOutput(output) : { content: resultContent(output) };
    return { outcome: "committed", ...read, isError: false };
  } catch (error) {
    stop.abort();
    return { outcome: "failed", content: problemOf(error), isError: true };
  }
}

async function timeout(tool: Tool, timers: Timers, stop: AbortController): Promise<never> {
  await timers.sleep(Math.min(tool.timeoutMs ?? 0, LONGEST_SLEEP), stop.signal);
  throw new Error(`The tool "${tool.name}" did not answer within ${tool.timeoutMs} ms.`);
}

/** Returns the message of an error for the model, without the stack. */
export function problemOf(error: unknown): string {
  const said = resultContent(error);
  return typeof said === "string" && said !== "" ? said : "The tool failed without saying why.";
}
