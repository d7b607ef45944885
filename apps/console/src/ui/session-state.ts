import type { ListedSession, Session } from "../api/api.ts";
import type { State } from "./state.ts";

/**
 * Returns the state of a session for display. If several states apply, waiting comes before running, running before
 * queued, and queued before the outcome of the last run.
 */
export function stateOf({
  activity,
  outcome,
  total_runs,
  has_queued_prompt,
}: Pick<ListedSession, "activity" | "outcome" | "total_runs" | "has_queued_prompt">): State {
  if (activity === "awaiting") return "waiting";
  if (activity === "running") return "running";
  if (has_queued_prompt === true) return "queued";
  if (outcome === "completed") return "done";
  if (outcome === "failed") return "failed";
  if (outcome === "cancelled") return "cancelled";
  return total_runs === 0 ? "idle" : "queued";
}

/** An id begins with the time of its creation, so the ids of the same minute differ only at the end. */
export function shortId(id: string): string {
  return `${id.slice(0, 8)}…${id.slice(-4)}`;
}

/** Returns the duration of the last run. A run in progress is counted until now. */
export function lengthOf(
  session: Pick<Session, "started_at" | "finished_at" | "updated_at" | "activity">,
  now: number,
): number {
  if (session.started_at === null) return 0;
  const end = session.activity === "idle" ? Date.parse(session.finished_at ?? session.updated_at) : now;
  return Math.max(0, end - Date.parse(session.started_at));
}
