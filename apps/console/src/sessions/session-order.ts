import type { Session } from "../api/api.ts";
import { stateOf, titleOf } from "../ui/session-state.ts";

export type Sort = "changed" | "begun" | "cost" | "runs" | "title";

export interface Wanted {
  readonly status: string | null;
  readonly model: string | null;
  readonly tag: string | null;
  readonly agent: string | null;
  readonly withSubagents: boolean;
}

/** Whether a session fits the filters. */
export function fits(session: Session, { status, model, tag, agent, withSubagents }: Wanted): boolean {
  if (!withSubagents && session.subagent_of_session_id !== null) return false;
  if (status !== null && stateOf(session) !== status) return false;
  if (tag !== null && !session.tags.includes(tag)) return false;
  if (agent !== null && session.agent_id !== agent) return false;
  return model === null || session.model === model;
}

/** Whether every word is in the title, tags, agent, model or id of a session. */
export function hasWords(session: Session, search: string, agentName: string): boolean {
  const words = search.trim().toLowerCase();
  if (words === "") return true;
  const text =
    `${titleOf(session)} ${agentName} ${session.tags.join(" ")} ${session.model} ${session.id}`.toLowerCase();
  return words.split(/\s+/).every((word) => text.includes(word));
}

const ORDERS: Readonly<Record<Sort, (one: Session, other: Session) => number>> = {
  changed: (one, other) => other.updated_at.localeCompare(one.updated_at),
  begun: (one, other) => other.created_at.localeCompare(one.created_at),
  cost: (one, other) => other.cost_micros - one.cost_micros,
  runs: (one, other) => other.total_runs - one.total_runs,
  title: (one, other) => titleOf(one).localeCompare(titleOf(other)),
};

export function sorted(sessions: readonly Session[], sort: Sort): readonly Session[] {
  return sessions.toSorted(ORDERS[sort] ?? ORDERS.changed);
}
