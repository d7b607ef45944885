import { type ActionRow, DIALECTS, FACTS, type FactType } from "@skein/protocol";
import { EVENT_TIME } from "./event-time.ts";

/** The SQL expressions of one database for the rows of agent_runs. Every expression is about an event `e`. */
export interface ActionSql {
  /** The unique number of the event's nth action. */
  readonly logId: (n: number) => string;
  /** A condition that is always true, but lets the database find events of this type by an index. */
  readonly findable?: (type: FactType) => string;
  /** A JSON value of the event's data, at a path of one or two keys. */
  readonly pick: (path: readonly string[]) => string;
  /** A number of the event's data, as an integer or null. */
  readonly integer: (key: string) => string;
  /** Whether the data has this value under this key. Never null. */
  readonly has: (key: string, value: string | boolean) => string;
  /**
   * The next three functions return JSON: from a condition, from a constant text, and from the members of an object.
   */
  readonly boolean: (condition: string) => string;
  readonly text: (text: string) => string;
  readonly object: (members: readonly (readonly [key: string, value: string])[]) => string;
  /** The messages that the model was shown at the event, as JSON. */
  readonly shownMessages: string;
  /** Nulls with the type of messages_snapshot (`noMessages`) and with the type of numbers (`noInteger`). */
  readonly noMessages: string;
  readonly noInteger: string;
  readonly actionType: (action: string) => string;
}

/** How many numbers in `log_id` are reserved for the actions of one event. */
export const ACTIONS_PER_EVENT = 8;

/**
 * Returns the query for the table agent_runs, with a branch per action. Its branches are generated from `DIALECTS`,
 * like the documents of the filesystem store.
 *
 * Each branch has the types of its fact and of its action as constants. So a query for one action reads only the facts
 * of this action. PostgreSQL's index of types finds them in the order of time; sqlite's index has only rare types.
 */
export function agentRunsSelect(sql: ActionSql): string {
  const types = Object.keys(DIALECTS) as FactType[];
  return types
    .flatMap((type) => DIALECTS[type].actions.map((row, n) => branch(sql, type, row, n)))
    .join("\nunion all\n");
}

function branch(sql: ActionSql, type: FactType, row: ActionRow, n: number): string {
  const keys = Object.keys(FACTS[type].shape);
  const integer = (...candidates: readonly string[]): string => {
    const key = candidates.find((candidate) => keys.includes(candidate));
    return key === undefined ? sql.noInteger : sql.integer(key);
  };
  const sent = row.action === "api_call_started";
  const members = Object.entries(row.data).map(([key, pick]) => [key, picked(sql, pick)] as const);
  const data = sql.object(sent ? [...members, ["messages_sent", sql.shownMessages]] : members);
  const condition = `${row.when ? ` and ${sql.has(...row.when)}` : ""}${row.unless ? ` and not ${sql.has(...row.unless)}` : ""}`;
  return `select ${sql.logId(n)} as log_id, e.session_id as agent_uuid, e.run_id as run_id,
  ${EVENT_TIME} as timestamp,
  ${keys.includes("step") ? sql.integer("step") : "0"} as step_number,
  ${sql.actionType(row.action)} as action_type,
  ${data} as action_data,
  ${sent ? sql.shownMessages : sql.noMessages} as messages_snapshot,
  ${integer("messages_count", "messages_after_count")} as messages_count,
  ${integer("estimated_tokens", "tokens_after")} as estimated_tokens,
  ${integer("duration_ms", "waited_ms")} as duration_ms
from events e where e.event_type = '${type}'${sql.findable?.(type) ?? ""}${condition}`;
}

function picked(sql: ActionSql, pick: string): string {
  if (pick === "=true") return sql.boolean("true");
  if (pick.startsWith("=")) return sql.text(pick.slice(1));
  if (pick.startsWith("!")) return sql.boolean(`not ${sql.has(pick.slice(1), true)}`);
  return sql.pick(pick.split("."));
}
