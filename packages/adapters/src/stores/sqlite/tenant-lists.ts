import {
  AROUND_TEXT,
  BEFORE_TEXT,
  type ChangedQuery,
  type ChangedSession,
  MOST_PLACES,
  type OpenAwaitsQuery,
  type Page,
  type SessionSummary,
  type TextPlace,
  jsonText,
} from "@skein/core";
import type { Await } from "@skein/protocol";
import { CONTENT_BEGINNING, type SummaryRow, summaryOfRow } from "../sql/session-summary.ts";
import type { Database } from "./database.ts";
import { toAwait, toSession } from "./rows.ts";

const DEFAULT_LIMIT = 50;

/**
 * Lists the open awaits of a tenant: the questions, approvals, frontend tools and subagents that its sessions wait for.
 * An index finds the sessions with a run that has not ended, and a second index finds their awaits.
 */
export function listOpenAwaits(db: Database, query: OpenAwaitsQuery): Page<Await> {
  const { tenant, kinds, agentId, limit = DEFAULT_LIMIT, cursor } = query;
  const rows = db.all(
    `select a.*, a.opened_at || ' ' || a.session_id || ' ' || printf('%09d', a.place) as cursor
      from sessions s cross join awaits a on a.session_id = s.id
      where s.tenant = ? and s.platform_status = 'running' and a.closed_at is null
        and (? is null or s.agent_id = ?) and (? is null or a.kind in (select value from json_each(?)))
        and (? is null or a.opened_at || ' ' || a.session_id || ' ' || printf('%09d', a.place) > ?)
      order by a.opened_at, a.session_id, a.place limit ?`,
    tenant,
    ...twice(agentId),
    ...twice(kinds && JSON.stringify(kinds)),
    ...twice(cursor),
    limit + 1,
  );
  const items = rows.slice(0, limit).map(({ cursor: _, ...row }) => toAwait(row));
  return { items, cursor: rows.length > limit ? (rows[limit - 1]?.["cursor"] as string) : null };
}

/**
 * Lists sessions in the order of their last change. No index has this order, because every append would have to write
 * it.
 */
export function listChanged(db: Database, query: ChangedQuery): Page<ChangedSession> {
  const { tenant, since = "", sessionIds, agentId, limit = DEFAULT_LIMIT, cursor } = query;
  const [lastTime = "", lastId = ""] = cursor?.split(" ") ?? [];
  const named = sessionIds && JSON.stringify(sessionIds);
  const rows = db.all(
    `select s.*, h.updated_at, h.run_count as total_runs, h.last_sequence
      from ${named === undefined ? "" : "json_each(?) n cross join"} heads h
      cross join sessions s on s.id = h.session_id
      where ${named === undefined ? "" : "h.session_id = n.value and"} h.tenant = ? and h.updated_at >= ?
        and (h.updated_at, h.session_id) > (?, ?) and (? is null or s.agent_id = ?)
      order by h.updated_at, h.session_id limit ?`,
    ...(named === undefined ? [] : [named]),
    tenant,
    since,
    lastTime,
    lastId,
    ...twice(agentId),
    limit + 1,
  );
  const items = rows.slice(0, limit).map(({ last_sequence, ...row }) => ({
    session: toSession(row),
    lastSequence: last_sequence as number,
  }));
  const last = items.at(-1)?.session;
  return { items, cursor: last && rows.length > limit ? `${last.updated_at} ${last.id}` : null };
}

const SUMMARIES = `select s.id,
    (select m.role || ' ' || m.created_at || ' ' || substr(m.content, 1, ${CONTENT_BEGINNING}) from messages m
      where m.session_id = s.id and m.number is not null and m.role in ('user', 'assistant')
      order by m.number desc limit 1) as last,
    case when s.status <> 'idle' then
      (select group_concat(a.kind, ' ') from awaits a where a.session_id = s.id and a.closed_at is null) end as kinds
  from json_each(?) n cross join sessions s on s.id = n.value where s.tenant = ?`;

export function summariesOf(db: Database, tenant: string, sessionIds: readonly string[]): readonly SessionSummary[] {
  return db.all(SUMMARIES, JSON.stringify(sessionIds), tenant).map((row) => summaryOfRow(row as unknown as SummaryRow));
}

/** The search reads every message of the sessions, so callers name only a few sessions per call. */
const PLACES = `select session_id as sessionId, role, sequence, created_at, json from (
    select m.session_id, m.role, m.sequence, m.created_at,
      substr(m.content, max(1, instr(lowered(m.content), ?1) - ${BEFORE_TEXT}), ${AROUND_TEXT}) as json,
      row_number() over (partition by m.session_id order by m.number desc) as place
    from json_each(?2) n cross join sessions s on s.id = n.value cross join messages m on m.session_id = s.id
    where s.tenant = ?3 and m.number is not null and instr(lowered(m.content), ?1) > 0)
  where place <= ${MOST_PLACES} order by session_id, place`;

export function placesOf(
  db: Database,
  { tenant, sessionIds, text }: { tenant: string; sessionIds: readonly string[]; text: string },
): readonly TextPlace[] {
  return db.all(PLACES, jsonText(text), JSON.stringify(sessionIds), tenant) as unknown as readonly TextPlace[];
}

/** Repeats a parameter for a condition that checks whether it was given, and compares with it. */
function twice(value: string | undefined): readonly (string | null)[] {
  return [value ?? null, value ?? null];
}
