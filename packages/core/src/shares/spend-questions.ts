import { type NewEvent, isKnownError } from "@skein/protocol";
import { SPEND_AWAIT, type SessionState } from "../log/state.ts";
import type { Claimed } from "../ports/runtime.ts";
import { isApproval } from "../run/approval.ts";
import { type Batch, type DriverLogDeps, createDriverLog } from "../run/driver-log.ts";
import { awaitOpened, awaitResolved } from "../run/facts/call-facts.ts";
import { messageEntered } from "../run/facts/message-facts.ts";
import { runStarted } from "../run/facts/run-facts.ts";
import { isCancelled, nextPrompt } from "../run/rules.ts";
import { derivedId } from "../sessions/derived-id.ts";
import { awaitAnswered } from "../sessions/session-facts.ts";
import type { Cap } from "./caps.ts";
import { spenderOf } from "./spend-gate.ts";
import type { SpendLedger, SpendQuestion } from "./spend-ledger.ts";

export interface SpendQuestionsDeps extends DriverLogDeps {
  readonly ledger: SpendLedger;
}

/**
 * The result of a check of the caps. `go`: the session continues. If `refusal` is set, the run ends with this sentence
 * at its next call. `waits`: people were asked, so the session sleeps.
 */
export type MoneyForDrive = { readonly kind: "go"; readonly refusal?: string } | { readonly kind: "waits" };

/**
 * Checks the caps before a worker runs a session. At 80 % of a cap (or the percentage that the operator chose) the run
 * asks people and waits for their answer. An approval applies to the whole day and to every other session that asked
 * the same question.
 */
export async function moneyForDrive(
  claimed: Claimed,
  { state, caps }: { readonly state: SessionState; readonly caps: readonly Cap[] },
  deps: SpendQuestionsDeps,
): Promise<MoneyForDrive> {
  const { ledger } = deps;
  // A killed process may have left a reservation, which is settled here.
  await ledger.settle(spenderOf(state), caps);
  const { run } = state;
  if (run?.spendAsk) {
    const { scope, answer } = run.spendAsk;
    const isOver = isCancelled(state, run);
    if (!answer && !isOver) {
      await deps.store.release(claimed.lease, { seen: state.sequence, dueAt: null });
      return { kind: "waits" };
    }
    await resolve(claimed, state, deps);
    if (answer && !isApproval(answer)) return { kind: "go", refusal: denied(caps, scope) };
    if (answer) await allowOthers(await ledger.allow(scope), state.sessionId, deps);
  }
  const { refusal, ask } = await ledger.standing(caps);
  if (refusal !== undefined) return { kind: "go", refusal };
  if (!ask || (run && isCancelled(state, run))) return { kind: "go" };
  await askPeople(claimed, { state, ask }, deps);
  return { kind: "waits" };
}

async function resolve({ lease, clock }: Claimed, state: SessionState, deps: SpendQuestionsDeps): Promise<void> {
  await createDriverLog({ lease, clock, state }, deps).write((batch) => {
    const { run } = batch.state;
    if (!run?.spendAsk) return;
    const { toolUseId, openedAt, answer } = run.spendAsk;
    const waitedMs = Math.max(0, batch.now - Date.parse(openedAt));
    batch.add(awaitResolved(run, toolUseId, { resolution: answer ? "answered" : "cancelled", waitedMs }));
  });
}

async function askPeople(
  { lease, clock }: Claimed,
  { state, ask }: { readonly state: SessionState; readonly ask: SpendQuestion },
  deps: SpendQuestionsDeps,
): Promise<void> {
  const toolUseId = `spend_${deps.ids().replaceAll("-", "")}`;
  await deps.ledger.asked(ask.scope, `${state.sessionId} ${toolUseId}`);
  await createDriverLog({ lease, clock, state }, deps).write((batch) => {
    beginRun(batch);
    const { run } = batch.state;
    if (!run) return { dueAt: null };
    const input = { cap: ask.scope, question: ask.sentence };
    batch.add(
      awaitOpened(run, [
        { toolUseId, kind: "approval", name: SPEND_AWAIT, input, expiresAt: null, about: { reason: ask.sentence } },
      ]),
    );
    return { dueAt: null };
  });
}

/** Begins the run of the next prompt if no run is in progress, because a question needs a run. */
function beginRun(batch: Batch): void {
  const prompt = nextPrompt(batch.state);
  if (batch.state.run || !prompt) return;
  batch.add(runStarted(prompt, batch.state.agent?.formatter ?? "json"));
  batch.add(messageEntered(batch.state, prompt.message_id));
}

/** Answers the other sessions that asked the same question. */
async function allowOthers(asking: readonly string[], own: string, { store, now }: SpendQuestionsDeps): Promise<void> {
  for (const each of asking) {
    const [sessionId = "", toolUseId = ""] = each.split(" ");
    if (sessionId === own) continue;
    const answered = awaitAnswered({ tool_use_id: toolUseId, content: "allow", is_error: false });
    const event = { ...answered, id: derivedId("spend", sessionId, toolUseId) } as NewEvent;
    await store.append(sessionId, [event], { dueAt: now() }).catch((error: unknown) => {
      if (!isKnownError(error, "not_found")) throw error;
    });
  }
}

function denied(caps: readonly Cap[], scope: string): string {
  const of = caps.find((cap) => cap.scope === scope)?.of ?? scope;
  return `The ${of} is close to its spending limit for today. A person was asked whether its runs may continue, and denied it.`;
}
