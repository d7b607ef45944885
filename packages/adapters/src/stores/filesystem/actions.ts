import { DIALECTS, type Event, type JsonObject, Uuid, actionData, isFactType } from "@skein/protocol";

/** A line of `agent_runs/{agent_uuid}/{run_id}.jsonl`, still without its number. */
export interface Action {
  readonly agent_uuid: string;
  readonly run_id: string;
  readonly timestamp: string;
  readonly step_number: number;
  readonly action_type: string;
  readonly action_data: JsonObject;
  readonly messages_count?: number;
  readonly estimated_tokens?: number;
  readonly duration_ms?: number;
}

/** Seed 002's actions of a fact. None if its run is not a UUID: it would become a file name. */
export function actionsOf(event: Event): readonly Action[] {
  if (!isFactType(event.event_type)) return [];
  const { actions } = DIALECTS[event.event_type];
  if (actions.length === 0) return [];
  const data = event.data as JsonObject;
  const runId = Uuid.safeParse(data["run_id"]);
  if (!runId.success) return [];
  return actions
    .filter(({ when }) => !when || data[when[0]] === when[1])
    .map((row) => ({
      agent_uuid: event.session_id,
      run_id: runId.data,
      timestamp: event.created_at,
      step_number: numberIn(data, "step") ?? 0,
      action_type: row.action,
      action_data: actionData(row, data),
      ...optional("messages_count", numberIn(data, "messages_count", "messages_after_count")),
      ...optional("estimated_tokens", numberIn(data, "estimated_tokens", "tokens_after")),
      ...optional("duration_ms", numberIn(data, "duration_ms", "waited_ms")),
    }));
}

/** The line as it stands in the file, numbered from 1 inside its run. */
export function actionLine(action: Action, number: number): string {
  return `${JSON.stringify({ log_id: number, ...action })}\n`;
}

/** The first of these keys that has a number. */
function numberIn(data: JsonObject, ...keys: readonly string[]): number | undefined {
  return keys.map((key) => data[key]).find((value) => typeof value === "number");
}

/** A key that is left out where there is no value, as in the seed's examples. */
function optional<Key extends string>(key: Key, value: number | undefined): { [K in Key]?: number } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: number };
}
