import {
  ContentBlock,
  type Fact,
  type FactData,
  type Failure,
  type Ids,
  type ModelPrice,
  type ModelStreamEvent,
  isToolUse,
  textOf,
} from "@skein/protocol";
import { z } from "zod";
import type { Live } from "../live/live.ts";
import { createOffsets } from "../live/live.ts";
import {
  type ModelAbilities,
  type ModelCall,
  type ModelCatalog,
  ModelFailure,
  type ModelReply,
} from "../ports/model.ts";
import type { AgentMemory } from "../ports/agent-memory.ts";
import { stepFailed, stepGenerated, stepRetried, titleGenerated } from "../run/facts/index.ts";
import type { RunState, SessionState } from "../log/state.ts";
import { brokenCall, callKeyOf, interruptedAnswer } from "./abandoned-call.ts";
import { type Arrived, type ArrivingAnswer, createArrivingAnswer } from "../run/arriving-answer.ts";
import { type Hooks, callHook } from "./hooks.ts";
import { compactedBySummary } from "./compaction.ts";
import { refusesSchema } from "../model/output-format.ts";
import { knownCalls } from "./tool-pairs.ts";
import { fallbackAfter } from "./fallback.ts";
import { callOf } from "./request.ts";

export interface CallDeps {
  readonly models: ModelCatalog;
  readonly live: Live;
  readonly now: () => number;
  readonly ids: Ids;
  readonly random: () => number;
  readonly memory: AgentMemory | undefined;
  readonly hooks?: Hooks | undefined;
  /** Receives the answer while it arrives. If the call is stopped, the arrived part is still known. */
  readonly arriving: (answer: ArrivingAnswer) => void;
}

/**
 * Makes the model call whose start is already in the log. Returns the facts of the call: a reply, a retry or a failure.
 */
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
    const publish = publisher(state, call, messageId, deps);
    const model = deps.models.named(state.tenant, call.model);
    const asked = callOf(state, call.purpose, call.max_tokens);
    refuseWithoutTools(asked, model.abilities);
    const reply = await model.call(
      { ...asked, usedIds: knownCalls(state.transcript) },
      (event) => {
        answer.add(event);
        publish(event);
      },
      signal,
    );
    const hooked = await afterHook(state, call, reply, { ...deps, signal });
    if (signal.aborted) return [];
    refuseRepeated(state, hooked.reply);
    const durationMs = Math.max(0, deps.now() - started);
    const generated = replied(call, { reply: hooked.reply, messageId, durationMs, price: model.price }, deps);
    const text = textOf([...reply.content]);
    if (call.purpose === "title") return [generated, ...titled(text)];
    if (call.purpose !== "compaction") return [...hooked.facts, generated];
    return [generated, ...(await compactedBySummary(state, current, { summary: text, durationMs }, deps))];
  } catch (error) {
    if (signal.aborted) return [];
    const durationMs = Math.max(0, deps.now() - started);
    const { price, abilities } = deps.models.named(state.tenant, call.model);
    return [failure(state, current, error, { ...deps, call, durationMs, arrived: answer.soFar(), price, abilities })];
  } finally {
    deps.live.clear(state.sessionId);
  }
}

/** Applies the agent's hook to an answer. An answer that the hook rejects still costs money. */
async function afterHook(
  state: SessionState,
  { purpose }: FactData<"step.started">,
  reply: ModelReply,
  { hooks, now, signal }: CallDeps & { readonly signal: AbortSignal },
): Promise<{ readonly reply: ModelReply; readonly facts: readonly Fact[] }> {
  const hook = hooks?.afterModelCall;
  if (!hook || (purpose !== "step" && purpose !== "summary")) return { reply, facts: [] };
  const event = "after_model_call";
  const { change, refusal, facts } = await callHook({ event, hook, about: reply }, { state, signal, now });
  if (refusal !== undefined)
    throw new ModelFailure(
      { code: "hook_refused", message: refusal },
      { retryable: false, begun: { usage: reply.usage, whole: true } },
    );
  if (change && !z.array(ContentBlock).safeParse(change.content).success)
    throw new Error("afterModelCall: Expected `content` with content blocks.");
  return { reply: change ? { ...reply, content: change.content } : reply, facts };
}

/**
 * Rejects a call if the agent has tools but the model cannot use tools. The model would otherwise answer as if there
 * were no tools.
 */
function refuseWithoutTools({ model, tools, serverTools }: ModelCall, abilities: ModelAbilities): void {
  const count = tools.length + serverTools.length;
  if (abilities.tools || count === 0) return;
  const message = `The model ${model} cannot use tools, and the agent has ${count}. Choose another model, or an agent without tools; if the model can use them, set its ability "tools".`;
  throw new ModelFailure({ code: "no_tools", message }, { retryable: false });
}

/** Rejects a reply with the id of an earlier tool call, because ids identify calls and the API rejects repeated ids. */
function refuseRepeated({ transcript }: SessionState, { content, usage }: ModelReply): void {
  const ids = ([...content] as ContentBlock[]).filter(isToolUse).map(({ id }) => id);
  const repeated = ids.find((id, at) => ids.indexOf(id) < at || knownCalls(transcript).has(id));
  if (repeated === undefined) return;
  throw new ModelFailure(
    {
      code: "stream_broken",
      message: `The model's answer is invalid: it repeats the id ${repeated} of an earlier tool call.`,
    },
    { retryable: true, mostRetries: FEW_RETRIES, begun: { usage, whole: true } },
  );
}

/** A complete answer that is invalid costs the full price, so few retries are made. */
const FEW_RETRIES = 1;

/** Publishes the model's stream as drafts. Titles and the summaries of compactions are not published. */
function publisher(state: SessionState, call: FactData<"step.started">, messageId: string, { live }: CallDeps) {
  const offsetOf = createOffsets();
  const shown = call.purpose === "step" || call.purpose === "summary";
  return (event: ModelStreamEvent): void => {
    if (!shown) return;
    const { run_id, step, attempt } = call;
    const offset = offsetOf(event);
    live.publish({ session_id: state.sessionId, run_id, step, attempt, message_id: messageId, offset, event });
  };
}

function replied(
  call: FactData<"step.started">,
  { price, ...answer }: { reply: ModelReply; messageId: string; durationMs: number; price: ModelPrice | undefined },
  { ids }: CallDeps,
): Fact {
  const place = { runId: call.run_id, step: call.step };
  const { reply, messageId, durationMs } = answer;
  return stepGenerated(place, call.purpose, {
    ...reply,
    messageId,
    resultsMessageId: ids,
    durationMs,
    price,
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

interface FailedCall {
  /** A copy of the open call. A cancel that is not stored yet may have removed the call from the state. */
  readonly call: FactData<"step.started">;
  readonly durationMs: number;
  readonly arrived: Arrived;
  readonly price: ModelPrice | undefined;
  readonly abilities: ModelAbilities;
}

/**
 * Makes the fact of a failed attempt: a retry or a failure. The fact of a retry has its delay, so that the retry
 * happens even if this worker dies.
 */
function failure(
  state: SessionState,
  current: RunState,
  error: unknown,
  { random, now, call, durationMs, arrived, price, abilities }: CallDeps & FailedCall,
): Fact {
  const known = error instanceof ModelFailure ? error : undefined;
  const problem: Failure = known?.failure ?? {
    code: "internal",
    message: error instanceof Error ? error.message : String(error),
  };
  const lost = known?.begun && brokenCall(state, call, { now: now(), known: told(known.begun, arrived), price });
  const attempt = current.attempts + 1;
  if (known && refusesSchema(problem, callOf(state, call.purpose, call.max_tokens), abilities))
    return stepRetried(current, { attempt, error: problem, delayMs: 0, lost, output: "tool" });
  const ownAttempt = attempt - (current.fallback?.attemptsBefore ?? 0);
  const { max_retries = 0, base_delay = 1 } = state.agent ?? {};
  const asksTooLong = (known?.retryAfterMs ?? 0) > LONGEST_WAIT_MS;
  if (!known?.retryable || asksTooLong || ownAttempt > Math.min(max_retries, known.mostRetries)) {
    const model = known && fallbackAfter(known, state, current);
    if (model !== undefined) return stepRetried(current, { attempt, error: problem, delayMs: 0, lost, model });
    const answer = known?.begun?.whole === false ? interruptedAnswer(call, arrived) : undefined;
    const ended = asksTooLong ? withWait(problem, known?.retryAfterMs ?? 0) : problem;
    return stepFailed(current, { error: ended, durationMs, lost, answer });
  }
  const backoff = base_delay * 2 ** (ownAttempt - 1) * 1000 + random() * Math.min(1000, base_delay * 1000);
  const delayMs = Math.round(Math.max(backoff, known.retryAfterMs ?? 0));
  return stepRetried(current, { attempt, error: problem, delayMs, lost });
}

/**
 * The longest wait before a retry. If the provider asks for a longer wait, a quota is used up. The run then fails or
 * uses another model instead of a long wait.
 */
const LONGEST_WAIT_MS = 600_000;

function withWait(problem: Failure, waitMs: number): Failure {
  const minutes = Math.ceil(waitMs / 60_000);
  return {
    ...problem,
    message: `${problem.message} The provider asks to wait ${minutes} minutes before the next call.`,
  };
}

/**
 * Returns the usage of a failed call. If its answer broke off, uses the estimated output if it is more than the model
 * counted.
 */
function told({ usage, whole }: NonNullable<ModelFailure["begun"]>, { model, usage: arrived }: Arrived) {
  const output_tokens = whole ? usage.output_tokens : Math.max(usage.output_tokens, arrived.output_tokens);
  return { model, usage: { ...usage, output_tokens }, isCounted: whole };
}
