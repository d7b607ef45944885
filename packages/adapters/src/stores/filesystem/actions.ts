import { type ActionLog, type Event, Uuid, actionLogs } from "@skein/protocol";

/** A line of `agent_runs/{agent_uuid}/{run_id}.jsonl`, without its number. */
export interface Action extends Partial<ActionLog> {
  readonly agent_uuid: string;
  readonly run_id: string;
}

/**
 * Returns the rows of `agent_runs` for an event. Returns no rows if the id of the run is not a UUID, because the id
 * becomes a file name.
 */
export function actionsOf(event: Event): readonly Action[] {
  const rows = actionLogs(event);
  if (rows.length === 0) return [];
  const runId = Uuid.safeParse((event.data as { run_id?: unknown }).run_id);
  if (!runId.success) return [];
  return rows.map((row) => ({ agent_uuid: event.session_id, run_id: runId.data, ...withoutNulls(row) }));
}

/** Returns a row as a line of its file. `number` begins with 1 in each run. */
export function actionLine(action: Action, number: number): string {
  return `${JSON.stringify({ log_id: number, ...action })}\n`;
}

/** Leaves out keys without a value, as the examples of the specification do. */
function withoutNulls(row: ActionLog): Partial<ActionLog> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}
