import {
  type Await,
  type Content,
  type Event,
  type Ids,
  type JsonObject,
  KnownError,
  isKnownError,
  textOf,
} from "@skein/protocol";
import { approvalWith, isApproval } from "../run/approval.ts";
import { awaitAnswered } from "./session-facts.ts";
import type { AppendOptions, Store } from "../ports/store.ts";

/**
 * The outcome of an answer to an await, which is a question, an approval or a tool of the client that a session waits
 * for:
 *
 * - `accepted`: the answer is in the log, and the run continues with it;
 * - `duplicate`: the call was answered before;
 * - `stale`: the session no longer waits for the answer, because of a cancel or a timeout;
 * - `refused`: the session never waited for the answer, or a subagent answers the call. Reasons:
 *   docs/decisions/050-answers-and-waits.md.
 */
type Disposition = "accepted" | "duplicate" | "stale" | "refused";

export interface Answered {
  readonly sessionId: string;
  readonly toolUseId: string;
  readonly disposition: Disposition;
  /** The disposition as a sentence. */
  readonly reason: string;
  /** The sequence of the accepted answer in the log. */
  readonly sequence: number | null;
}

interface AnswersDeps {
  readonly store: Store;
  readonly tenant: string;
  readonly now: () => number;
  readonly ids: Ids;
  /** The Idempotency-Key of the request that contains the answer. */
  readonly key?: AppendOptions["key"];
}

interface GivenAnswer {
  readonly tool_use_id: string;
  readonly content: Content;
  readonly is_error: boolean;
  /** An approved call runs with this input instead of the model's. */
  readonly updatedInput?: JsonObject | undefined;
}

/**
 * Appends an answer if the session waits for it, and returns its disposition. Exactly one of several concurrent answers
 * is accepted.
 */
export async function answerAwait(
  deps: AnswersDeps,
  sessionId: string,
  { updatedInput, ...given }: GivenAnswer,
): Promise<Answered> {
  const { store, tenant, now, ids, key } = deps;
  const data = updatedInput ? { ...given, content: approvalWith(updatedInput) } : given;
  for (;;) {
    const { kind, ...found } = await dispositionOf(deps, sessionId, data.tool_use_id);
    if (found.disposition !== "accepted") return found;
    if (kind === "approval" && !data.is_error && textOf(data.content).trim() === "")
      throw new KnownError(
        "invalid",
        "answer: An empty answer neither allows the call nor denies it. Say allow or deny.",
      );
    if (updatedInput && (kind !== "approval" || !isApproval(given)))
      throw new KnownError("invalid", "updated_input: Only an answer that approves a call may change its input.");
    const event = { ...awaitAnswered(data), id: ids() };
    try {
      // If two clients see the open await and both answer, `expect` makes sure that only one answer is accepted.
      const expect = found.sequence ?? 0;
      const { events } = await store.append(sessionId, [event], { tenant, dueAt: now(), expect, ...(key && { key }) });
      return { ...found, sequence: events[0]?.sequence ?? null };
    } catch (error) {
      if (!isKnownError(error, "conflict")) throw error;
    }
  }
}

async function dispositionOf(
  { store, tenant, now }: AnswersDeps,
  sessionId: string,
  toolUseId: string,
): Promise<Answered & { readonly kind?: Await["kind"] | undefined }> {
  const open = (await store.awaits(sessionId, { tenant })).find(({ tool_use_id }) => tool_use_id === toolUseId);
  const say = (disposition: Disposition, reason: string, sequence: number | null = null): Answered => ({
    sessionId,
    toolUseId,
    disposition,
    reason,
    sequence,
  });
  if (open?.kind === "subagent") return say("refused", `The call ${toolUseId} is answered by its subagent.`);
  // An open await belongs to the run in progress, so only the events of this run have to be read.
  const [run] = open ? (await store.runs(sessionId, { tenant, limit: 1 })).items : [];
  let events = await store.read(sessionId, { tenant, after: run ? run.first_sequence - 1 : 0 });
  let opened = events.findLastIndex((event) => opens(event, toolUseId));
  // This run may have ended before its events were read. So the whole log is searched.
  if (opened === -1 && run) {
    events = await store.read(sessionId, { tenant });
    opened = events.findLastIndex((event) => opens(event, toolUseId));
  }
  if (opened === -1) return say("refused", `Session ${sessionId} never waited for an answer to ${toolUseId}.`);
  const since = events.slice(opened + 1);
  if (since.some((event) => event.event_type === "await.answered" && event.data.tool_use_id === toolUseId))
    return say("duplicate", `The call ${toolUseId} already has its answer.`);
  const isLate = open?.expires_at != null && Date.parse(open.expires_at) <= now();
  const resolved = since.find(
    (event) => event.event_type === "await.resolved" && event.data.tool_use_id === toolUseId,
  ) as Extract<Event, { event_type: "await.resolved" }> | undefined;
  // The log may have newer events than the row of the await, so a resolution in the log counts too.
  if (open && !isLate && !resolved)
    return { ...say("accepted", "The answer was accepted.", events.at(-1)?.sequence ?? 0), kind: open.kind };
  const why =
    isLate || resolved?.data.resolution === "timed_out" ? "the wait reached its time limit" : "its run was cancelled";
  return say("stale", `Session ${sessionId} no longer waits for an answer to ${toolUseId}: ${why}.`);
}

function opens(event: Event, toolUseId: string): boolean {
  return event.event_type === "await.opened" && event.data.awaits.some(({ tool_use_id }) => tool_use_id === toolUseId);
}
