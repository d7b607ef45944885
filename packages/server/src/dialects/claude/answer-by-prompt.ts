import { type Await, type ClaudeOptions, type Content, KnownError, isKnownError } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import type { Caller } from "../../request-context.ts";
import { type AskedRun, runAt } from "./requested-run.ts";

/** While exactly one question is open, the next prompt answers the question. The run that asked continues. */

/** Returns everything that a session waits for, except subagents. */
export async function openAwaits({ shared, principal }: Caller, sessionId: string): Promise<readonly Await[]> {
  const open = await shared.deps.store.awaits(sessionId, { tenant: principal.tenant });
  return open.filter(({ kind }) => kind !== "subagent");
}

export async function onlyQuestion(call: Caller, sessionId: string): Promise<Await | undefined> {
  const questions = (await openAwaits(call, sessionId)).filter(({ kind }) => kind === "question");
  return questions.length === 1 ? questions[0] : undefined;
}

/** Rejects a prompt that answers a question and also has options. The waiting run keeps its options. */
export function checkNothingElse({
  include_partial_messages: _partial,
  user: _user,
  ...others
}: Partial<ClaudeOptions>): void {
  const [name] = Object.keys(others);
  if (name !== undefined)
    throw new KnownError(
      "invalid",
      `${name}: This prompt answers a question, so the run keeps its options. Use control to change them.`,
    );
}

export async function answeredRun(
  call: Caller,
  { session_id: sessionId, tool_use_id }: Await,
  { content, partials }: { readonly content: Content; readonly partials: boolean },
): Promise<AskedRun> {
  const { disposition, sequence } = await call.sessions.answer(sessionId, tool_use_id, { content }, call.idempotency);
  if (disposition !== "accepted" || sequence === null) throw locked(sessionId);
  return afterAnswer(call, sessionId, { sequence, partials });
}

/** Returns the run that received the answer. The client follows the run from the answer on. */
export async function afterAnswer(
  { sessions }: Caller,
  sessionId: string,
  { sequence, partials }: { readonly sequence: number; readonly partials: boolean },
): Promise<AskedRun> {
  const run = await runAt(sessions, sessionId, sequence);
  if (!run) throw new ApiError("SESSION_NOT_FOUND", `Session ${sessionId} has no run that received this answer.`);
  return { sessionId, runId: run.id, from: run.first_sequence - 1, after: sequence, partials };
}

/**
 * Returns the sequence of the stored answer if the error reports a repeated request. Returns undefined for other
 * errors.
 */
export function answerSentAgain(error: unknown): number | undefined {
  if (!isKnownError(error, "key_reused") || error.details?.["event_type"] !== "await.answered") return undefined;
  return Number(error.details["sequence"]);
}

export function locked(sessionId: string): ApiError {
  return new ApiError(
    "SESSION_LOCKED",
    `Session ${sessionId} has a run that is not over. Interrupt it, or wait for its end.`,
  );
}
