import {
  type Page,
  type PageOptions,
  type SessionFilter,
  type SessionQuery,
  displayText,
  nextSkip,
  skippedBy,
} from "@skein/core";
import { KnownError, type MessageRow, type Run, type Session } from "@skein/protocol";
import type { Connections } from "./connections.ts";
import type { Statement, TextRow } from "./query.ts";
import { MESSAGE_COLUMNS, RUN_COLUMNS, SESSION_COLUMNS, messageOf, runOf, sessionOf } from "./rows.ts";

const DEFAULT_LIMIT = 50;

/** Sort orders without an index. Their page token is a number of rows to skip. */
const UNINDEXED = {
  cost: "h.cost_micros::numeric * 1000000 + h.cost_rest desc, s.id desc",
  title: `s.title is null, lower(s.title) collate "C", s.id`,
} as const;

async function listSorted(connections: Connections, query: SessionQuery, order: string): Promise<Page<Session>> {
  const { limit = DEFAULT_LIMIT, offset = 0, cursor } = query;
  const { tables, where, values, bind } = selection(query);
  const text = `select ${SESSION_COLUMNS} from (
      select s.* from ${tables} join skein.heads h on h.session_id = s.id where ${where.join(" and ")} order by ${order}
      limit ${bind(limit + 1)} offset ${bind(offset + skippedBy(cursor))}) s
    cross join lateral (select * from skein.heads h where h.session_id = s.id offset 0) h order by ${order}`;
  const rows = await connections.query({ text, patient: true }, values);
  return { items: rows.slice(0, limit).map(sessionOf), cursor: nextSkip(query, rows.length > limit) };
}

export async function listSessions(connections: Connections, query: SessionQuery): Promise<Page<Session>> {
  const { limit = DEFAULT_LIMIT, offset, order = "begun", cursor } = query;
  if (order === "cost" || order === "title") return listSorted(connections, query, UNINDEXED[order]);
  const { lead, tables, where, values, bind, used } = selection(query);
  const hasLead = lead !== "s";
  const isUsed = order === "used";
  const time = isUsed ? "coalesce(s.last_run_at, s.created_at)" : `${lead}.created_at`;
  const id = hasLead && !isUsed ? "l0.session_id" : "s.id";
  if (cursor !== undefined) {
    const [lastTime, lastId] = sessionCursor(cursor);
    used.push("cursor");
    where.push(`(${time}, ${id}) < (${bind(lastTime)}::timestamptz, ${bind(lastId)}::uuid)`);
  }
  if (offset !== undefined) used.push("offset");
  // The page is selected first and then joined with heads. With the join first, the query would read every session of
  // the tenant.
  const text = `select ${SESSION_COLUMNS} from (
      select s.* from ${tables} where ${where.join(" and ")} order by ${time} desc, ${id} desc
      limit ${bind(limit + 1)} ${offset === undefined ? "" : `offset ${bind(offset)}`}) s
    cross join lateral (select * from skein.heads h where h.session_id = s.id offset 0) h
    order by ${isUsed ? time : "s.created_at"} desc, s.id desc`;
  const rows = await connections.query(statement(`list-${order}`, used, text), values);
  const items = rows.slice(0, limit).map(sessionOf);
  const last = items.at(-1);
  const at = last && (isUsed ? (last.last_run_at ?? last.created_at) : last.created_at);
  return { items, cursor: last && rows.length > limit ? `${at} ${last.id}` : null };
}

/** The filters that can be answered from the sums of sessions. */
const SUMMED = new Set<keyof SessionFilter>(["tenant", "agentId", "status", "activity", "outcome", "topLevel"]);
const COUNT: Statement = {
  name: "skein-count-sums",
  text: `select coalesce(sum(c.sessions), 0) from (
      select tenant, agent_id, top_level, status, outcome, sessions from skein.session_counts
      union all select tenant, agent_id, top_level, status, outcome, sessions from skein.count_changes) c
    where c.tenant = $1 and ($2::uuid is null or c.agent_id = $2)
      and ($3::text[] is null or $3 @> array[skein.platform_status(c.status, nullif(c.outcome, ''))])
      and ($4::text is null or c.status = $4) and ($5::text is null or c.outcome = $5) and (not $6 or c.top_level)`,
};

/** Counts sessions. If the sums have all requested columns, they are used. If not, the rows are counted. */
export async function countSessions(connections: Connections, filter: SessionFilter): Promise<number> {
  const asked = Object.entries(filter).filter(([, value]) => value !== undefined);
  if (asked.every(([name]) => SUMMED.has(name as keyof SessionFilter))) {
    const { tenant, agentId, status, activity, outcome, topLevel } = filter;
    const statuses = status === undefined ? null : [status].flat();
    const values = [tenant, agentId ?? null, statuses, activity ?? null, outcome ?? null, topLevel ?? false];
    return Number((await connections.query(COUNT, values))[0]?.[0]);
  }
  const { tables, where, values, used } = selection(filter);
  const text = `select count(*)::integer as count from ${tables} where ${where.join(" and ")}`;
  const [row] = await connections.query({ ...statement("count", used, text), patient: true }, values);
  return Number(row?.[0]);
}

/**
 * Makes a separate statement for each combination of filters, so that each statement can use its index. A statement
 * with a tag or metadata condition is not prepared. The number of its rows depends on the value, and a prepared
 * statement would keep a plan that sorts all rows.
 */
function statement(kind: string, used: readonly string[], text: string): Statement {
  return used.includes("label") ? { text } : { name: `skein-${kind}-${used.join("-")}`, text };
}

interface Selection {
  /** The table that determines the order of the list. */
  readonly lead: "l0" | "s";
  readonly tables: string;
  readonly where: string[];
  readonly values: unknown[];
  readonly bind: (value: unknown) => string;
  /** The names of the filters that are set. The name of the prepared statement contains them. */
  readonly used: string[];
}

/**
 * Translates a filter to SQL. The tables of tags and metadata have the order of the list, and the columns of a session
 * that never change. `offset 0` forces the planner to read the table of the first tag or metadata condition row by row.
 * Without `offset 0`, the planner joined a new table without statistics in the wrong order, which took half a minute.
 */
function selection(filter: SessionFilter): Selection {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const used: string[] = [];
  const where: string[] = [];
  const labels: (readonly [table: string, condition: string])[] = [];
  for (const tag of filter.tags ?? []) labels.push(["session_tags", `.tag = ${bind(displayText(tag))}`]);
  for (const [key, value] of filter.metadata ?? [])
    labels.push(["session_metadata", `.key = ${bind(displayText(key))} and .value = ${bind(displayText(value))}`]);
  const [first, ...others] = labels;
  const lead = first ? "l0" : "s";
  where.push(`${lead}.tenant = ${bind(filter.tenant)}`);
  const whereSession: string[] = first ? ["s.id = l0.session_id"] : where;
  if (first) {
    used.push("label");
    where.push(qualified("l0", first[1]));
  }
  for (const [table, condition] of others)
    whereSession.push(
      `exists (select 1 from skein.${table} l where l.session_id = s.id and ${qualified("l", condition)})`,
    );
  const add = (name: string, value: unknown, condition: (parameter: string) => string, to = whereSession): void => {
    if (value === undefined) return;
    used.push(name);
    to.push(condition(bind(value)));
  };
  const [agents, to] = first?.[0] === "session_tags" ? ["l0", where] : ["s", whereSession];
  add("agent", filter.agentId, (value) => `${agents}.agent_id = ${value}::uuid`, to);
  if (typeof filter.status === "string") add("status", filter.status, (value) => `s.platform_status = ${value}`);
  else add("statuses", filter.status, (value) => `s.platform_status = any(${value}::text[])`);
  // Few sessions are active, and an index with this condition finds them.
  const few = filter.activity === "idle" ? "" : " and s.platform_status = 'running'";
  add(`activity-${few === "" ? "idle" : "busy"}`, filter.activity, (value) => `s.status = ${value}${few}`);
  add("outcome", filter.outcome, (value) => `s.outcome = ${value}`);
  add("model", filter.model && displayText(filter.model), (value) => `s.model = ${value}`);
  if (filter.topLevel) {
    used.push("top");
    whereSession.push("s.subagent_of_session_id is null");
  }
  if (filter.hasUnknownEffect) {
    used.push("unknown");
    whereSession.push("s.has_unknown_effect");
  }
  add("after", filter.createdAfter, (value) => `${lead}.created_at > ${value}::timestamptz`, where);
  add("before", filter.createdBefore, (value) => `${lead}.created_at < ${value}::timestamptz`, where);
  add("parent", filter.parentSessionId, (value) => `s.parent_session_id = ${value}::uuid`);
  add("caller", filter.subagentOfSessionId, (value) => `s.subagent_of_session_id = ${value}::uuid`);
  add("title", filter.title && inAnyCase(displayText(filter.title)), (value) => `s.title ~ ${value}`);
  const folder = filter.workingDirectory === null ? "" : filter.workingDirectory;
  add("folder", folder, (value) => `coalesce(s.working_directory::text, '') = ${value}`);
  const tables = first
    ? `skein.${first[0]} l0 cross join lateral (select * from skein.sessions s
        where ${whereSession.join(" and ")} offset 0) s`
    : "skein.sessions s";
  return { lead, tables, where, values, bind, used };
}

/**
 * Returns a pattern for this text that ignores case. lower() is not used, because with the locale "C" it changes only
 * ASCII letters.
 */
export function inAnyCase(text: string): string {
  const either = (letter: string): string => {
    const [small, large] = [letter.toLowerCase(), letter.toUpperCase()];
    return small === large ? letter.replace(/[^\p{L}\p{N}]/u, "\\$&") : `(?:${small}|${large})`;
  };
  return Array.from(text, either).join("");
}

function qualified(table: string, condition: string): string {
  return condition.replaceAll(/(^| )\./g, `$1${table}.`);
}

function sessionCursor(cursor: string): readonly [string, string] {
  const [createdAt, id, ...rest] = cursor.split(" ");
  if (createdAt === undefined || id === undefined || rest.length > 0) throw badCursor(cursor);
  return [createdAt, id];
}

function badCursor(cursor: string): KnownError {
  return new KnownError("invalid", `"${cursor}" is not a cursor of this list.`);
}

const MESSAGES: Statement = {
  name: "skein-messages",
  text: `select ${MESSAGE_COLUMNS} from skein.messages m
    where m.session_id = $1 and m.number > $2 order by m.number limit $3`,
};

/** Messages in the transcript, oldest first. */
export async function pageOfMessages(
  connections: Connections,
  sessionId: string,
  { cursor, limit = DEFAULT_LIMIT }: PageOptions,
): Promise<Page<MessageRow>> {
  const rows = await connections.query(MESSAGES, [sessionId, placeOf(cursor) ?? 0, limit + 1]);
  return pageOf(rows, limit, { item: messageOf, place: ({ sequence }) => sequence });
}

const RUNS: Statement = {
  name: "skein-runs",
  text: `select ${RUN_COLUMNS} from skein.runs r
    where r.session_id = $1 and ($2::integer is null or r.number < $2) order by r.number desc limit $3`,
};

/** Runs, newest first. */
export async function pageOfRuns(
  connections: Connections,
  sessionId: string,
  { cursor, limit = DEFAULT_LIMIT }: PageOptions,
): Promise<Page<Run>> {
  const rows = await connections.query(RUNS, [sessionId, placeOf(cursor), limit + 1]);
  return pageOf(rows, limit, { item: runOf, place: ({ number }) => number });
}

function placeOf(cursor: string | undefined): number | null {
  if (cursor === undefined) return null;
  const place = Number(cursor);
  if (!Number.isSafeInteger(place)) throw badCursor(cursor);
  return place;
}

function pageOf<Item>(
  rows: readonly TextRow[],
  limit: number,
  { item, place }: { readonly item: (row: TextRow) => Item; readonly place: (item: Item) => number },
): Page<Item> {
  const items = rows.slice(0, limit).map(item);
  const last = items.at(-1);
  return { items, cursor: last !== undefined && rows.length > limit ? String(place(last)) : null };
}
