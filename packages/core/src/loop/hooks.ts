import type { Content, ContentBlock, Fact, FactData, JsonObject } from "@skein/protocol";
import type { CallState, RunState, SessionState } from "../log/state.ts";
import type { ModelCall, ModelReply } from "../ports/model.ts";
import { hookCalled } from "../run/facts/index.ts";

/** The session and run for which a hook is called. */
export interface HookContext {
  readonly sessionId: string;
  readonly runId: string;
  /** Aborts when the run is cancelled or its worker stops. */
  readonly signal: AbortSignal;
}

/** A call of a tool that the model asked for. */
export interface HookedCall {
  readonly toolUseId: string;
  readonly name: string;
  readonly input: unknown;
}

/**
 * The sentence with which a hook rejects a call. For a tool call, the model reads the sentence as the result. For a
 * model call, the sentence is the error of the run.
 */
interface Refusal {
  readonly refuse: string;
}

type Said<Change> = Change | Refusal | null | undefined | void;
type Hook<About, Change> = (about: About, context: HookContext) => Said<Change> | Promise<Said<Change>>;

/**
 * Functions that the program of an agent provides. They are called before and after each model call and tool call. A
 * hook that returns nothing only watches. If a hook changes or rejects something, the fact `hook.called` records this.
 * If a hook throws, the call is rejected.
 */
export interface Hooks {
  /** Called before the first attempt of each step. It may change the system prompt and `maxTokens` of this step. */
  readonly beforeModelCall?: Hook<ModelCall, { readonly system?: string; readonly maxTokens?: number }>;
  /**
   * Called after each answer of a step, before the answer is stored. It may change the content. Clients have already
   * seen the drafts.
   */
  readonly afterModelCall?: Hook<ModelReply, { readonly content: readonly ContentBlock[] }>;
  /** Called before a tool call runs or waits. It may change the input or ask a person. */
  readonly beforeToolCall?: Hook<HookedCall, { readonly input: JsonObject } | { readonly ask: true }>;
  /** Called after a tool of this process has run. It may change the result for the model. */
  readonly afterToolCall?: Hook<
    HookedCall & { readonly content: Content; readonly isError: boolean },
    { readonly content: Content }
  >;
}

export const HOOK_NAMES = [
  "beforeModelCall",
  "afterModelCall",
  "beforeToolCall",
  "afterToolCall",
] as const satisfies (keyof Hooks)[];

/** The outcome of a hook: what it changed, or why it rejected the call. */
export interface Hooked<Change> {
  readonly change: Change | undefined;
  readonly refusal: string | undefined;
  /** The fact about the hook, if the hook changed or rejected something. */
  readonly facts: readonly Fact[];
}

interface HookCall<About, Change> {
  readonly event: string;
  readonly hook: Hook<About, Change>;
  readonly about: About;
  readonly call?: HookedCall;
  /** Returns the change in the form for the log. */
  readonly told?: (change: Change) => JsonObject | null;
}

/** Calls a hook and returns the outcome. */
export async function callHook<About, Change extends object>(
  { event, hook, about, call, told }: HookCall<About, Change>,
  { state, signal, now }: { readonly state: SessionState; readonly signal: AbortSignal; readonly now: () => number },
): Promise<Hooked<Change>> {
  const { runId } = state.run as RunState;
  const started = now();
  const { said, error } = await answerOf(() => hook(about, { sessionId: state.sessionId, runId, signal }));
  if (!said && !error) return { change: undefined, refusal: undefined, facts: [] };
  const refusal = error?.message ?? (said && "refuse" in said ? said.refuse : undefined);
  const change = refusal === undefined ? (said as Change) : undefined;
  const asks = change && "ask" in change;
  const data: FactData<"hook.called"> = {
    run_id: runId,
    hook_event: event,
    tool_use_id: call?.toolUseId ?? null,
    tool_name: call?.name ?? null,
    decision: refusal !== undefined ? "deny" : asks ? "ask" : "allow",
    reason: refusal ?? null,
    modified_input: (change && told?.(change)) ?? null,
    error: error ?? null,
    duration_ms: Math.max(0, now() - started),
  };
  return { change, refusal, facts: [hookCalled(data)] };
}

async function answerOf<Change>(ask: () => Said<Change> | Promise<Said<Change>>) {
  try {
    return { said: (await ask()) ?? undefined };
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    return { error: { code: "hook_failed", message: `A hook of the agent failed: ${why}` } };
  }
}

/** Calls the hook `beforeModelCall`. Returns the fact about it. */
export async function hookModelCall(
  call: ModelCall,
  hook: NonNullable<Hooks["beforeModelCall"]>,
  where: Parameters<typeof callHook>[1],
): Promise<readonly Fact[]> {
  const told = ({ system, maxTokens }: { system?: string; maxTokens?: number }): JsonObject => ({
    ...(system !== undefined && { system }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  });
  return (await callHook({ event: "before_model_call", hook, about: call, told }, where)).facts;
}

/** Calls the hook `beforeToolCall`. Returns the fact about it. */
export async function hookToolCall(
  { toolUseId, name, input }: CallState,
  hook: NonNullable<Hooks["beforeToolCall"]>,
  where: Parameters<typeof callHook>[1],
): Promise<readonly Fact[]> {
  const call = { toolUseId, name, input };
  const told = (change: object): JsonObject | null => ("input" in change ? (change.input as JsonObject) : null);
  return (await callHook({ event: "before_tool_call", hook, about: call, call, told }, where)).facts;
}
