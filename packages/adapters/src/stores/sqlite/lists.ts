import {
  type Counters,
  type SessionFilter,
  type SessionQuery,
  type ToolUsageQuery,
  type UsageQuery,
  nextSkip,
  skippedBy,
} from "@skein/core";
import type { ToolUsageRow, UsageRow } from "@skein/protocol";
import { EVENT_TIME } from "../sql/event-time.ts";
import { usageRow, usageSql, zoneDay } from "../sql/usage.ts";
import type { Database } from "./database.ts";
import { RARE_EVENT } from "./schema.ts";
import type { SessionCache, SessionPage } from "./session-cache.ts";

const DEFAULT_LIMIT = 50;
const COLUMNS = "s.*, h.updated_at, h.run_count as total_runs";

export const SESSION = `select ${COLUMNS} from sessions s join heads h on h.session_id = s.id where s.id = ?`;

/** Sort orders without an index. Their page token is a number of rows to skip. */
const UNINDEXED = {
  cost: "s.cost_micros * 1000000 + s.cost_rest desc, s.id desc",
  title: "s.title is null, lowered(s.title), s.id",
} as const;

export function listSessions(
  { db, cache }: { readonly db: Database; readonly cache: SessionCache },
  query: SessionQuery,
): SessionPage {
  const { limit = DEFAULT_LIMIT, offset = 0 } = query;
  const { from, hasLead, where, values } = selection(query);
  if (query.order === "cost" || query.order === "title") {
    const sql = `select ${COLUMNS} from ${from} join heads h on h.session_id = s.id where ${where.join(" and ")}
      order by ${UNINDEXED[query.order]} limit ? offset ?`;
    const rows = db.all(sql, ...values, limit + 1, offset + skippedBy(query.cursor));
    return { items: rows.slice(0, limit).map(cache.keep), cursor: nextSkip(query, rows.length > limit) };
  }
  const isUsed = query.order === "used";
  // The list is sorted by this time and id. An index has the same order.
  const time = isUsed ? "coalesce(s.last_run_at, s.created_at)" : hasLead ? "l0.created_at" : "s.created_at";
  const id = hasLead && !isUsed ? "l0.session_id" : "s.id";
  const [lastTime, lastId] = query.cursor?.split(" ") ?? [];
  if (lastTime !== undefined && lastId !== undefined) {
    where.push(`(${time}, ${id}) < (?, ?)`);
    values.push(lastTime, lastId);
  }
  const found = `where ${where.join(" and ")} order by ${time} desc, ${id} desc limit ? offset ?`;
  // Reading the ids is cheap, because they come from an index as one text. Rows are read only if a session is not in
  // the cache.
  const sql = `select group_concat(id, ' ') as ids from (select s.id from ${from} ${found})`;
  const ids = ((db.get(sql, ...values, limit + 1, offset)?.["ids"] as string | null) ?? "").split(" ");
  const rows = `select ${COLUMNS} from ${from} join heads h on h.session_id = s.id ${found}`;
  const items = cache.get(ids.slice(0, limit)) ?? db.all(rows, ...values, limit, offset).map(cache.keep);
  const last = items.at(-1);
  const at = last && (isUsed ? (last.last_run_at ?? last.created_at) : last.created_at);
  return { items, cursor: ids.length > limit && last ? `${at} ${last.id}` : null };
}

export function countSessions(db: Database, filter: SessionFilter): number {
  const { from, where, values } = selection(filter);
  return Number(db.get(`select count(*) as n from ${from} where ${where.join(" and ")}`, ...values)?.["n"]);
}

/** Returns the conditions of a usage query and their values. `time` is the SQL of the time that is compared. */
function boundsOf({ tenant, agentId, sessionId, from, to }: ToolUsageQuery, time: string) {
  const bounds = [
    ["s.tenant = ?", tenant],
    ["s.agent_id = ?", agentId],
    ["s.id = ?", sessionId],
    [`${time} >= ?`, from],
    [`${time} < ?`, to],
  ] as const;
  const given = bounds.filter(([, value]) => value !== undefined);
  return {
    where: given.map(([condition]) => condition).join(" and "),
    values: given.map(([, value]) => value as string),
  };
}

/** Returns the SQL for the day of a time in the query's time zone. */
function dayIn(time: string, asked: ToolUsageQuery): string {
  if (!asked.shifts) return `substr(${time}, 1, 10)`;
  return zoneDay(time, asked, (minutes) => `strftime('%Y-%m-%d', ${time}, '${minutes} minutes')`);
}

/** Name, outcome and duration of a call are short, so they are complete even in the preview of a large body. */
export function toolUsageOf(db: Database, query: ToolUsageQuery): readonly ToolUsageRow[] {
  const { where, values } = boundsOf(query, EVENT_TIME);
  const rows = db.all(
    `select ${dayIn(EVENT_TIME, query)} as day, e.data ->> 'name' as tool, count(*) as calls,
      sum(e.data ->> 'outcome' <> 'unknown' and (e.data ->> 'outcome' = 'failed' or e.data ->> 'is_error')) as failed,
      sum(e.data ->> 'outcome' = 'unknown') as unknown, sum(e.data ->> 'duration_ms') as duration_ms
    from events e cross join sessions s on s.id = e.session_id
    where e.event_type = 'tool.completed' and e.${RARE_EVENT} and ${where} group by 1, 2`,
    ...values,
  );
  return rows as unknown as readonly ToolUsageRow[];
}

export function usageOf(db: Database, query: UsageQuery): readonly UsageRow[] {
  const { where, values } = boundsOf(query, "r.started_at");
  const { columns, groupBy, needsModels } = usageSql(query, dayIn("r.started_at", query));
  const rows = db.all(
    `select ${columns}
    from sessions s cross join runs r on r.session_id = s.id
    ${needsModels ? "left join run_models m on m.session_id = s.id and m.run_id = r.id" : ""}
    where ${where} group by ${groupBy}`,
    ...values,
  );
  return rows.map((row) => {
    const keys = [row["key0"], ...("key1" in row ? [row["key1"]] : [])] as string[];
    return usageRow(keys, row["runs"] as number, row as unknown as Counters);
  });
}

interface Selection {
  readonly from: string;
  /** Whether `l0`, the table of the first tag or metadata condition, is joined before the sessions. */
  readonly hasLead: boolean;
  readonly where: string[];
  readonly values: (string | null)[];
}

/**
 * Translates a filter to SQL. Tags and metadata have separate tables in the order of the list. The table of the first
 * tag or metadata condition is read in this order. For further conditions, rows are looked up.
 */
function selection(filter: SessionFilter): Selection {
  const where: string[] = [];
  const values: (string | null)[] = [];
  const add = (condition: string, ...given: readonly (string | null | undefined)[]): void => {
    if (given.includes(undefined)) return;
    where.push(condition);
    values.push(...(given as (string | null)[]));
  };
  const labels: string[] = [];
  const addLabel = (table: string, condition: string, ...given: readonly string[]): void => {
    const name = `l${labels.length}`;
    labels.push(`${table} ${name}`);
    add(`${name}.tenant = ? and ${condition.replaceAll("l.", `${name}.`)}`, filter.tenant, ...given);
    if (name !== "l0") where.push(`${name}.created_at = s.created_at and ${name}.session_id = s.id`);
  };
  for (const tag of filter.tags ?? []) addLabel("session_tags", "l.tag = ?", tag);
  for (const [key, value] of filter.metadata ?? [])
    addLabel("session_metadata", "l.key = ? and l.value = ?", key, value);
  const [lead, ...others] = labels;
  if (lead) where.push("s.id = l0.session_id");
  add("s.tenant = ?", filter.tenant);
  const statuses = filter.status === undefined ? [] : [filter.status].flat();
  if (filter.status !== undefined) add(`s.platform_status in (${statuses.map(() => "?").join(", ")})`, ...statuses);
  // Few sessions are active, and an index with this condition finds them.
  add(`s.status = ?${filter.activity === "idle" ? "" : " and s.platform_status = 'running'"}`, filter.activity);
  add("s.outcome = ?", filter.outcome);
  add("s.model = ?", filter.model);
  if (filter.topLevel) where.push("s.subagent_of_session_id is null");
  if (filter.hasUnknownEffect) where.push("s.has_unknown_effect = 1");
  add("s.agent_id = ?", filter.agentId);
  add("s.parent_session_id = ?", filter.parentSessionId);
  add("s.subagent_of_session_id = ?", filter.subagentOfSessionId);
  add("s.working_directory is ?", filter.workingDirectory);
  add("s.created_at > ?", filter.createdAfter);
  add("s.created_at < ?", filter.createdBefore);
  // sqlite's lower() changes only ASCII letters.
  add("instr(lowered(s.title), ?) > 0", filter.title?.toLowerCase());
  // In sqlite, `cross join` fixes the order of a join.
  const from = [...(lead ? [lead] : []), "sessions s", ...others].join(" cross join ");
  return { from, hasLead: lead !== undefined, where, values };
}
