import type { Session } from "../api/api.ts";
import { stateOf, titleOf } from "../ui/session-state.ts";

export type Sort = "changed" | "begun" | "cost" | "runs" | "title";

export interface Wanted {
  readonly status: string | null;
  readonly model: string | null;
  readonly search: string;
  readonly agentName: string;
  readonly withSubagents: boolean;
}

/** Whether a session fits what is asked for. Every word must be somewhere in it. */
export function fits(session: Session, { status, model, search, agentName, withSubagents }: Wanted): boolean {
  if (!withSubagents && session.subagent_of_session_id !== null) return false;
  if (status !== null && stateOf(session) !== status) return false;
  if (model !== null && session.model !== model) return false;
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
