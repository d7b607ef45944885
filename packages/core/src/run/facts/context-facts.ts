import type { AgentConfig, FactData, Failure, JsonObject, Message } from "@skein/protocol";
import { type SessionState, contextOf } from "../../log/state.ts";
import { type FactOf, type Place, inStep } from "./place.ts";

interface MemoryCall {
  readonly type: string;
  readonly durationMs: number;
  readonly failed: { readonly failed?: true; readonly error?: Failure };
}

/** Makes the fact `memory.retrieved`: the agent memory was asked what may matter for the prompt. */
export function memoryRetrieved(
  place: Place,
  { transcript, contextTokens }: Pick<SessionState, "transcript" | "contextTokens">,
  call: MemoryCall & { readonly found: number; readonly memories: readonly string[] },
): FactOf<"memory.retrieved"> {
  return {
    event_type: "memory.retrieved",
    data: {
      ...inStep(place),
      messages_count: transcript.length,
      estimated_tokens: contextTokens,
      duration_ms: call.durationMs,
      memories_found: call.found,
      memories_injected: call.memories.length,
      memory_store_type: call.type,
      injected: [...call.memories],
      ...call.failed,
    },
  };
}

/** Makes the fact `memory.updated`: the agent memory was updated at the end of the run. */
export function memoryUpdated(place: Place, call: MemoryCall & { readonly written: number }): FactOf<"memory.updated"> {
  return {
    event_type: "memory.updated",
    data: {
      ...inStep(place),
      memories_written: call.written,
      memory_store_type: call.type,
      duration_ms: call.durationMs,
      ...call.failed,
    },
  };
}

/** Makes the fact `memory.saved`: the agent memory saved what a compaction drops. */
export function memorySaved(place: Place, call: MemoryHook): FactOf<"memory.saved"> {
  return { event_type: "memory.saved", data: hookData(place, call) };
}

/** Makes the fact `memory.restored`: the agent memory restored something after a compaction. */
export function memoryRestored(place: Place, call: MemoryHook): FactOf<"memory.restored"> {
  return { event_type: "memory.restored", data: hookData(place, call) };
}

type MemoryHook = MemoryCall & { readonly details: JsonObject };

function hookData(place: Place, { type, durationMs, details, failed }: MemoryHook): FactData<"memory.saved"> {
  return { ...inStep(place), memory_store_type: type, duration_ms: durationMs, details, ...failed };
}

/**
 * Makes the fact `compaction.checked`: the context was measured before a model call. If there are `messages`, the
 * context was shortened to them.
 */
export function compactionChecked(
  state: SessionState,
  check: {
    readonly reason: string;
    readonly threshold: number;
    readonly messages: readonly Omit<Message, "id">[] | null;
    readonly tokensAfter: number;
    readonly durationMs: number;
  },
): FactOf<"compaction.checked"> {
  const agent = state.agent as AgentConfig;
  const { reason, threshold, messages, tokensAfter, durationMs } = check;
  return {
    event_type: "compaction.checked",
    data: {
      run_id: state.run?.runId ?? "",
      step: state.run?.step ?? 0,
      messages_count: contextOf(state).length,
      estimated_tokens: state.contextTokens,
      duration_ms: durationMs,
      applied: messages !== null,
      reason,
      compactor_type: agent.compactor_type,
      current_tokens: state.contextTokens,
      threshold,
      tokens_after: tokensAfter,
      messages: messages === null ? null : messages.map(({ role, content }) => ({ role, content })),
    },
  };
}
