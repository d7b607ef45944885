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
import { type Await, KnownError, Uuid } from "@skein/protocol";
import { CONTENT_BEGINNING, summaryOfRow } from "../sql/session-summary.ts";
import type { Connections } from "./connections.ts";
import { inAnyCase } from "./lists.ts";
import type { Statement } from "./query.ts";
import { AWAIT_COLUMNS, SESSION_COLUMNS, awaitOf, sessionOf } from "./rows.ts";

const DEFAULT_LIMIT = 50;

/** `place` numbers the awaits of all sessions in the order in which they were opened. */
const OPEN_AWAITS: Statement = {
  name: "skein-open-awaits",
  text: `select ${AWAIT_COLUMNS}, a.place from skein.sessions s join skein.awaits a on a.session_id = s.id
    where s.tenant = $1 and s.platform_status = 'running' and a.closed_at is null
      and ($2::uuid is null or s.agent_id = $2) and ($3::text[] is null or a.kind = any($3)) and a.place > $4
    order by a.place limit $5`,
};

/**
 * Lists the open awaits of a tenant, oldest first: the questions, approvals, frontend tools and subagents that its
 * sessions wait for.
 */
export async function listOpenAwaits(connections: Connections, query: OpenAwaitsQuery): Promise<Page<Await>> {
  const { tenant, kinds, agentId, limit = DEFAULT_LIMIT, cursor = "0" } = query;
  if (!/^\d{1,15}$/.test(cursor)) throw badCursor(cursor);
  const rows = await connections.query(OPEN_AWAITS, [tenant, agentId ?? null, kinds ?? null, cursor, limit + 1]);
  return {
    items: rows.slice(0, limit).map(awaitOf),
    cursor: rows.length > limit ? (rows[limit - 1]?.[1] ?? null) : null,
  };
}

/**
 * The time of a head's last change in microseconds. The list is sorted by microseconds, although a session shows only
 * milliseconds.
 */
const CHANGED_AT = "(extract(epoch from h.updated_at) * 1000000)::bigint";

const changedStatement = (kind: string, where: string): Statement => ({
  name: `skein-changed-${kind}`,
  text: `select ${SESSION_COLUMNS}, h.last_sequence, ${CHANGED_AT}
    from (select * from skein.heads h where h.tenant = $1 and ${where} offset 0) h
    join skein.sessions s on s.id = h.session_id
    where ($3::uuid is null or s.agent_id = $3) and (${CHANGED_AT}, h.session_id) > ($4::bigint, $5::uuid)
    order by ${CHANGED_AT}, h.session_id limit $6`,
});
const CHANGED_SINCE = changedStatement("since", "h.updated_at >= $2::timestamptz");
const CHANGED_NAMED = changedStatement("named", "h.session_id = any($2::uuid[])");
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Lists sessions in the order of their last change. No index has this order, because every append would have to write
 * it.
 */
export async function listChanged(connections: Connections, query: ChangedQuery): Promise<Page<ChangedSession>> {
  const { tenant, since = "1970-01-01T00:00:00.000Z", sessionIds, agentId, limit = DEFAULT_LIMIT, cursor } = query;
  const [lastTime = "", lastId = ""] = cursor?.split(" ") ?? ["0", FIRST_ID];
  if (!/^\d{1,17}$/.test(lastTime) || !Uuid.safeParse(lastId).success) throw badCursor(cursor ?? "");
  const named = sessionIds?.filter((id) => Uuid.safeParse(id).success);
  const rows = await connections.query(named ? CHANGED_NAMED : CHANGED_SINCE, [
    tenant,
    named ?? since,
    agentId ?? null,
    lastTime,
    lastId,
    limit + 1,
  ]);
  const changes = rows.slice(0, limit).map((row) => ({
    change: { session: sessionOf(row), lastSequence: Number(row.at(-2)) },
    at: row.at(-1),
  }));
  const last = changes.at(-1);
  const next = last && rows.length > limit ? `${last.at} ${last.change.session.id}` : null;
  // If the query names sessions, they are selected by id. Their times are compared here.
  const items = changes.map(({ change }) => change).filter(({ session }) => !named || session.updated_at >= since);
  return { items, cursor: next };
}

const SUMMARIES: Statement = {
  name: "skein-summaries",
  text: `select s.id,
      (select m.role || ' ' || skein.milliseconds(m.created_at) || ' ' || left(m.content::text, ${CONTENT_BEGINNING})
        from skein.messages m
        where m.session_id = s.id and m.number is not null and m.role in ('user', 'assistant')
        order by m.number desc limit 1),
      case when s.status <> 'idle' then
        (select string_agg(a.kind, ' ' order by a.place) from skein.awaits a
          where a.session_id = s.id and a.closed_at is null) end
    from skein.sessions s where s.id = any($1::uuid[]) and s.tenant = $2`,
};

export async function summariesOf(
  connections: Connections,
  tenant: string,
  sessionIds: readonly string[],
): Promise<readonly SessionSummary[]> {
  const known = sessionIds.filter((id) => Uuid.safeParse(id).success);
  const rows = await connections.query(SUMMARIES, [known, tenant]);
  return rows.map(([id, last, kinds]) => summaryOfRow({ id: id ?? "", last: last ?? null, kinds: kinds ?? null }));
}

const PLACES: Statement = {
  name: "skein-places",
  patient: true,
  text: `select s.id, m.role, m.sequence, skein.milliseconds(m.created_at), m.json
    from unnest($1::uuid[]) n(id) join skein.sessions s on s.id = n.id and s.tenant = $2
    cross join lateral (
      select m.role, m.sequence, m.created_at, substr(m.content::text,
          greatest(1, strpos(m.content::text, substring(m.content::text from $3)) - ${BEFORE_TEXT}), ${AROUND_TEXT}) as json
      from skein.messages m where m.session_id = s.id and m.number is not null and m.content::text ~ $3
      order by m.number desc limit ${MOST_PLACES}) m`,
};

export async function placesOf(
  connections: Connections,
  { tenant, sessionIds, text }: { tenant: string; sessionIds: readonly string[]; text: string },
): Promise<readonly TextPlace[]> {
  const known = sessionIds.filter((id) => Uuid.safeParse(id).success);
  const rows = await connections.query(PLACES, [known, tenant, inAnyCase(jsonText(text))]);
  return rows.map(([sessionId, role, sequence, at, json]) => ({
    sessionId: sessionId ?? "",
    role: role as TextPlace["role"],
    sequence: Number(sequence),
    created_at: new Date(Number(at)).toISOString(),
    json: json ?? "",
  }));
}

function badCursor(cursor: string): KnownError {
  return new KnownError("invalid", `"${cursor}" is not a cursor of this list.`);
}
