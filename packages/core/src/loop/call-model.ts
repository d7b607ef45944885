import {
  type ContentBlock,
  type Fact,
  type FactData,
  type Failure,
  type Ids,
  isToolUse,
  textOf,
} from "@skein/protocol";
import type { Live } from "../live/live.ts";
import { createOffsets } from "../live/live.ts";
import { type Model, ModelFailure, type ModelReply } from "../ports/model.ts";
import type { AgentMemory } from "../ports/agent-memory.ts";
import { stepFailed, stepGenerated, stepRetried, titleGenerated } from "../run/facts/index.ts";
import type { RunState, SessionState } from "../log/state.ts";
import { brokenCall, callKeyOf, interruptedAnswer } from "./abandoned-call.ts";
import { type Arrived, type ArrivingAnswer, createArrivingAnswer } from "../run/arriving-answer.ts";
import { compactedBySummary } from "./compaction.ts";
import { knownCalls } from "./tool-pairs.ts";
import { requestOf } from "./request.ts";

export interface CallDeps {
  readonly model: Model;
  readonly live: Live;
  readonly now: () => number;
  readonly ids: Ids;
  readonly random: () => number;
  readonly memory: AgentMemory | undefined;
  /** Told of the answer that is on its way, so that whoever ends the call knows what has arrived. */
  readonly arriving: (answer: ArrivingAnswer) => void;
}

/** Makes the open model call and says what came of it: a reply, a retry later, or the end. */
export async function callModel(
  state: SessionState,
  current: RunState,
  deps: CallDeps,
  signal: AbortSignal,
): Promise<readonly Fact[]> {
  const call = current.call as FactData<"step.started">;
  const started = deps.now();
  const messageId = deps.ids();
  const answer = createArrivingAnswer(callKeyOf(call), messageId);
  deps.arriving(answer);
  try {
    const request = requestOf(state, call.purpose, call.max_tokens);
    const publish = publisher(state, call, messageId, deps);
    const reply = await deps.model.call(
      request,
      (event) => {
        answer.add(event);
        publish(event);
      },
      signal,
    );
    refuseRepeated(state, reply);
    const durationMs = Math.max(0, deps.now() - started);
    const generated = replied(call, { reply, messageId, durationMs }, deps);
    const text = textOf([...reply.content]);
    if (call.purpose === "title") return [generated, ...titled(text)];
    if (call.purpose !== "compaction") return [generated];
    return [generated, ...(await compactedBySummary(state, current, { summary: text, durationMs }, deps))];
  } catch (error) {
    if (signal.aborted) return [];
    const durationMs = Math.max(0, deps.now() - started);
    return [failure(state, current, error, { ...deps, durationMs, arrived: answer.soFar() })];
  } finally {
    deps.live.clear(state.sessionId);
  }
}

/** A call is known by its id: a second one of the same id would be taken for the first, and no model would take both. */
function refuseRepeated({ transcript }: SessionState, { content, usage }: ModelReply): void {
  const ids = ([...content] as ContentBlock[]).filter(isToolUse).map(({ id }) => id);
  const repeated = ids.find((id, at) => ids.indexOf(id) < at || knownCalls(transcript).has(id));
  if (repeated === undefined) return;
  throw new ModelFailure(
    { code: "stream_broken", message: `The model's answer makes no sense. There is another call ${repeated}.` },
    { retryable: true, begun: { usage, whole: true } },
  );
}

/** Passes the model's stream on to whoever watches. Only the conversation is shown, not titles and summaries. */
function publisher(state: SessionState, call: FactData<"step.started">, messageId: string, { live }: CallDeps) {
  const offsetOf = createOffsets();
  const shown = call.purpose === "step" || call.purpose === "summary";
  return (event: Parameters<Parameters<Model["call"]>[1]>[0]): void => {
    if (!shown) return;
    const { run_id, step, attempt } = call;
    const offset = offsetOf(event);
    live.publish({ session_id: state.sessionId, run_id, step, attempt, message_id: messageId, offset, event });
  };
}

function replied(
  call: FactData<"step.started">,
  { reply, messageId, durationMs }: { reply: ModelReply; messageId: string; durationMs: number },
  { ids }: CallDeps,
): Fact {
  const place = { runId: call.run_id, step: call.step };
  return stepGenerated(place, call.purpose, {
    ...reply,
    messageId,
    resultsMessageId: ids,
    durationMs,
    simulated: call.simulated === true,
  });
}

function titled(text: string): readonly Fact[] {
  const title = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .replaceAll(/^[\s"'#*]+|[\s"'*.]+$/g, "")
    .slice(0, 255)
    .toWellFormed();
  return title === "" ? [] : [titleGenerated(title)];
}

/** Retries are facts: written down with when the next attempt may begin, so that they survive the worker. */
function failure(
  state: SessionState,
  current: RunState,
  error: unknown,
  { random, now, durationMs, arrived }: CallDeps & { readonly durationMs: number; readonly arrived: Arrived },
): Fact {
  const call = current.call as FactData<"step.started">;
  const known = error instanceof ModelFailure ? error : undefined;
  const problem: Failure = known?.failure ?? {
    code: "internal",
    message: error instanceof Error ? error.message : String(error),
  };
  const lost = known?.begun && brokenCall(state, call, { now: now(), known: told(known.begun, arrived) });
  const attempt = current.attempts + 1;
  const { max_retries = 0, base_delay = 1 } = state.agent ?? {};
  if (!known?.retryable || attempt > Math.min(max_retries, known.mostRetries)) {
    const answer = known?.begun?.whole === false ? interruptedAnswer(call, arrived) : undefined;
    return stepFailed(current, { error: problem, durationMs, lost, answer });
  }
  const backoff = base_delay * 2 ** (attempt - 1) * 1000 + random() * Math.min(1000, base_delay * 1000);
  const delayMs = Math.round(Math.max(backoff, known.retryAfterMs ?? 0));
  return stepRetried(current, { attempt, error: problem, delayMs, lost });
}

/** What is known of an answer that broke off: as the model counted it, and where it stopped counting as much as arrived. */
function told({ usage, whole }: NonNullable<ModelFailure["begun"]>, { model, usage: arrived }: Arrived) {
  const output_tokens = whole ? usage.output_tokens : Math.max(usage.output_tokens, arrived.output_tokens);
  return { model, usage: { ...usage, output_tokens }, isCounted: whole };
}
