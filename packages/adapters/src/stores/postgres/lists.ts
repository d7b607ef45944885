import type { Page, PageOptions, SessionQuery } from "@skein/core";
import { KnownError, type MessageRow, type Run, type Session } from "@skein/protocol";
import type { Connections, Statement, TextRow } from "./connections.ts";
import { MESSAGE_COLUMNS, RUN_COLUMNS, SESSION_COLUMNS, messageOf, runOf, sessionOf } from "./rows.ts";

const DEFAULT_LIMIT = 50;

/** Sessions, newest first. Each combination of filters is a statement of its own, so that each gets the index it deserves. */
export async function listSessions(connections: Connections, query: SessionQuery): Promise<Page<Session>> {
  const limit = query.limit ?? DEFAULT_LIMIT;
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  // With a tag, the table of tags leads: it has what never changes about a session, in the order of the list.
  const isTagged = query.tag !== undefined;
  const [lead, id] = isTagged ? ["t", "t.session_id"] : ["s", "s.id"];
  const where = [`${lead}.tenant = ${bind(query.tenant)}`];
  const whereSession: string[] = isTagged ? [] : where;
  const used: string[] = [];
  const filter = (
    name: string,
    value: unknown,
    condition: (parameter: string) => string,
    conditions: string[] = where,
  ): void => {
    if (value === undefined) return;
    used.push(name);
    conditions.push(condition(bind(value)));
  };
  filter("tag", query.tag, (value) => `t.tag = ${value}`);
  filter("agent", query.agentId, (value) => `${lead}.agent_id = ${value}::uuid`);
  filter("status", query.status, (value) => `s.platform_status = ${value}`, whereSession);
  filter("after", query.createdAfter, (value) => `${lead}.created_at > ${value}::timestamptz`);
  filter("before", query.createdBefore, (value) => `${lead}.created_at < ${value}::timestamptz`);
  filter("parent", query.parentSessionId, (value) => `s.parent_session_id = ${value}::uuid`, whereSession);
  filter("caller", query.subagentOfSessionId, (value) => `s.subagent_of_session_id = ${value}::uuid`, whereSession);
  if (query.cursor !== undefined) {
    const [createdAt, after] = sessionCursor(query.cursor);
    used.push("cursor");
    where.push(`(${lead}.created_at, ${id}) < (${bind(createdAt)}::timestamptz, ${bind(after)}::uuid)`);
  }
  // Row by row from the tags, whatever the planner believes: on a table that was just filled it knew nothing, joined the
  // other way round, and took half a minute. `offset 0` is what keeps it from doing so.
  const tables = isTagged
    ? `skein.session_tags t
      cross join lateral (select * from skein.sessions s
        where ${["s.id = t.session_id", ...whereSession].join(" and ")} offset 0) s
      cross join lateral (select * from skein.heads h where h.session_id = t.session_id offset 0) h`
    : "skein.sessions s join skein.heads h on h.session_id = s.id";
  const text = `select ${SESSION_COLUMNS} from ${tables}
    where ${where.join(" and ")} order by ${lead}.created_at desc, ${id} desc limit ${bind(limit + 1)}`;
  // How many sessions have a tag differs too much for one plan: a prepared statement settles on one that sorts them all.
  const name = isTagged ? {} : { name: `skein-list-${used.join("-")}` };
  const rows = await connections.query({ ...name, text }, values);
  const items = rows.slice(0, limit).map(sessionOf);
  const last = items.at(-1);
  return { items, cursor: last && rows.length > limit ? `${last.created_at} ${last.id}` : null };
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
