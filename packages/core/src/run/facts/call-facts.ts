import type { Content, FactData, JsonObject } from "@skein/protocol";
import type { CallState, RunState } from "../../log/state.ts";
import { type FactOf, type Place, inStep } from "./place.ts";

type Call = Pick<CallState, "toolUseId" | "name" | "input">;

/**
 * Makes the fact `tool.started`: a call begins. A call with the policy `once` does not run again after its worker has
 * died.
 */
export function toolStarted(
  place: Place,
  { toolUseId, name, input }: Call,
  policy: "once" | "repeatable" = "once",
): FactOf<"tool.started"> {
  return {
    event_type: "tool.started",
    data: { ...inStep(place), tool_use_id: toolUseId, name, input, policy },
  };
}

/** The result of a call. */
export interface CallResult {
  readonly outcome: FactData<"tool.completed">["outcome"];
  readonly content: Content;
  readonly isError: boolean;
  readonly durationMs: number;
  readonly output?: unknown;
}

/** Makes the fact `tool.completed` for a call of the current step. */
export function toolCompleted(run: RunState, call: Call, result: CallResult): FactOf<"tool.completed"> {
  const part = run.calls.findIndex(({ toolUseId }) => toolUseId === call.toolUseId);
  return completedCall(run, call, { ...result, messageId: run.resultsMessageId ?? "", part });
}

/**
 * Makes the fact `tool.completed` for a call of the current step whose result no tool of this process made: an answer
 * from outside, a refusal, or the end of the run. The duration is 0.
 */
export function toolClosed(
  run: RunState,
  call: Call,
  result: Pick<CallResult, "outcome" | "content"> & Partial<CallResult>,
): FactOf<"tool.completed"> {
  return toolCompleted(run, call, { isError: true, ...result, durationMs: 0 });
}

/**
 * Makes the fact `tool.completed`: a call has its result. `part` is the position of the result in the message with all
 * results.
 */
export function completedCall(
  place: Place,
  { toolUseId, name, input }: Call,
  result: CallResult & { readonly messageId: string; readonly part: number },
): FactOf<"tool.completed"> {
  return {
    event_type: "tool.completed",
    data: {
      ...inStep(place),
      tool_use_id: toolUseId,
      name,
      input,
      outcome: result.outcome,
      content: result.content,
      is_error: result.isError,
      message_id: result.messageId,
      part: result.part,
      duration_ms: result.durationMs,
      ...(result.output !== undefined && { output: result.output }),
    },
  };
}

/** A call that waits for an answer from a person, the client or a subagent. */
export interface OpenedAwait extends Call {
  readonly kind: FactData<"await.opened">["awaits"][number]["kind"];
  /** Until when the call waits; null for no limit. */
  readonly expiresAt: number | null;
  /** The session of the subagent that works on the call. */
  readonly sessionId?: string;
  /** Further information for the person who decides. */
  readonly about?: JsonObject;
}

export function awaitOpened(place: Place, awaits: readonly OpenedAwait[]): FactOf<"await.opened"> {
  return {
    event_type: "await.opened",
    data: {
      ...inStep(place),
      awaits: awaits.map(({ toolUseId, kind, name, input, expiresAt, sessionId, about }) => ({
        tool_use_id: toolUseId,
        kind,
        name,
        input,
        expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
        session_id: sessionId ?? null,
        ...(about && { about }),
      })),
    },
  };
}

export function awaitResolved(
  place: Place,
  toolUseId: string,
  {
    resolution,
    waitedMs,
  }: { readonly resolution: FactData<"await.resolved">["resolution"]; readonly waitedMs: number },
): FactOf<"await.resolved"> {
  return {
    event_type: "await.resolved",
    data: { ...inStep(place), tool_use_id: toolUseId, resolution, waited_ms: waitedMs },
  };
}
