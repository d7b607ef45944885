import { type Await, type Event, isKnownError } from "@skein/protocol";
import type { Sessions } from "../sessions/sessions.ts";
import { type SessionState, statusOf } from "../log/state.ts";
import type { Store } from "../ports/store.ts";
import { derivedId } from "../sessions/derived-id.ts";
import { isCancelled } from "./rules.ts";

/** The awaits (questions, approvals and tools of the client) of a session that cannot continue without an answer. */
interface OpenAwaits {
  /** The run that waits. */
  readonly runId: string;
  /** The last sequence of the log when these awaits were read. */
  readonly sequence: number;
  /** The awaits that a person or client must answer, including awaits of subagents. */
  readonly forSomebody: readonly Await[];
}

/**
 * Returns the awaits of a session. Undefined if the session can continue without an answer. Every session that is read
 * is added to `family`.
 */
export async function openAwaits(
  deps: { readonly store: Pick<Store, "awaits">; readonly sessions: Pick<Sessions, "state"> },
  sessionId: string,
  family: Set<string> = new Set(),
): Promise<OpenAwaits | undefined> {
  family.add(sessionId);
  const state = await stateOf(deps.sessions, sessionId);
  // A cancel or an interrupting prompt ends the wait, so nobody has to answer.
  if (!state?.run || isCancelled(state, state.run) || statusOf(state) !== "awaiting") return undefined;
  const { runId, calls } = state.run;
  const waiting = new Set(
    calls.flatMap(({ phase, answer, toolUseId }) => (phase === "waiting" && !answer ? [toolUseId] : [])),
  );
  const own = (await deps.store.awaits(sessionId)).filter(({ tool_use_id }) => waiting.has(tool_use_id));
  const forSomebody: Await[] = [];
  for (const wait of own) {
    if (wait.kind !== "subagent") forSomebody.push(wait);
    else {
      const child = await openAwaits(deps, derivedId("subagent", sessionId, wait.tool_use_id), family);
      forSomebody.push(...(child?.forSomebody ?? []));
    }
  }
  return { runId, sequence: state.sequence, forSomebody };
}

/** Returns whether a session may be waiting after this fact. */
export function mayPause({ event_type }: Event): boolean {
  return event_type === "await.opened" || event_type === "await.resolved" || event_type === "tool.completed";
}

async function stateOf(sessions: Pick<Sessions, "state">, sessionId: string): Promise<SessionState | undefined> {
  try {
    return await sessions.state(sessionId);
  } catch (error) {
    if (isKnownError(error, "not_found")) return undefined;
    throw error;
  }
}
