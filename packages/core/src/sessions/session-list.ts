import { type JsonObject, KnownError, type Session } from "@skein/protocol";
import { platformStatus } from "./platform-status.ts";
import type { Page, SessionFilter, SessionQuery } from "../ports/store.ts";

/** Filters and sorts sessions, for stores that hold them in memory. */

const DEFAULT_LIMIT = 50;

export function listSessions(newestFirst: Iterable<Session>, query: SessionQuery): Page<Session> {
  const { cursor, offset = 0, limit = DEFAULT_LIMIT } = query;
  if (query.order === "cost" || query.order === "title") {
    const skipped = offset + skippedBy(cursor);
    const all = [...matching(newestFirst, query)].sort(query.order === "cost" ? dearestFirst : byTitle);
    return { items: all.slice(skipped, skipped + limit), cursor: nextSkip(query, all.length > skipped + limit) };
  }
  const place = query.order === "used" ? useKey : sortKey;
  const fitting = matching(newestFirst, query);
  const ordered = query.order === "used" ? [...fitting].sort((a, b) => (useKey(a) < useKey(b) ? 1 : -1)) : fitting;
  const items: Session[] = [];
  let skipped = 0;
  for (const session of ordered) {
    if (cursor !== undefined && place(session) >= cursor) continue;
    if ((skipped += 1) <= offset) continue;
    const last = items.at(-1);
    if (items.length === limit) return { items, cursor: last ? place(last) : null };
    items.push(session);
  }
  return { items, cursor: null };
}

/**
 * Returns how many sessions to skip in a list by cost or title. The cursor is this number and no sort key, because the
 * order can change between pages.
 */
export function skippedBy(cursor: string | undefined): number {
  const skipped = Number(cursor ?? 0);
  if (!Number.isSafeInteger(skipped) || skipped < 0)
    throw new KnownError("invalid", `"${cursor}" is not a cursor of this list.`);
  return skipped;
}

/** The cursor of the next page of a list by cost or title. */
export function nextSkip({ cursor, offset = 0, limit = DEFAULT_LIMIT }: SessionQuery, hasMore: boolean): string | null {
  return hasMore ? String(skippedBy(cursor) + offset + limit) : null;
}

function dearestFirst(one: Session, other: Session): number {
  const more = BigInt(other.cost_picos) - BigInt(one.cost_picos);
  return more === 0n ? (one.id < other.id ? 1 : -1) : more > 0n ? 1 : -1;
}

/** Sessions without a title come last. */
function byTitle(one: Session, other: Session): number {
  const [a, b] = [one, other].map(({ title }) => title?.toLowerCase());
  if (a === b) return one.id < other.id ? -1 : 1;
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
  return a < b ? -1 : 1;
}

export function countSessions(all: Iterable<Session>, filter: SessionFilter): number {
  let count = 0;
  for (const _ of matching(all, filter)) count += 1;
  return count;
}

/** A key for sorting newest first. The id decides between sessions with the same time. */
export function sortKey({ created_at, id }: Session): string {
  return `${created_at} ${id}`;
}

/** The longest searchable key and value. Longer metadata is stored but cannot be searched. */
const KEY_LENGTH = 64;
const VALUE_LENGTH = 255;

/** Returns the searchable metadata. Texts stay unchanged, and other simple values become JSON. */
export function metadataPairs(metadata: JsonObject): readonly (readonly [key: string, value: string])[] {
  const pairs: [string, string][] = [];
  for (const [key, value] of Object.entries(metadata)) {
    const text = lookedFor(key, value);
    if (text !== undefined) pairs.push([key, text]);
  }
  return pairs;
}

function lookedFor(key: string, value: unknown): string | undefined {
  if (typeof value === "object" && value !== null) return undefined;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return key.length <= KEY_LENGTH && text.length <= VALUE_LENGTH ? text : undefined;
}

function useKey(session: Session): string {
  return `${session.last_run_at ?? session.created_at} ${session.id}`;
}

function* matching(all: Iterable<Session>, filter: SessionFilter): Generator<Session> {
  const fits = fitting(filter);
  for (const session of all) if (fits(session)) yield session;
}

/** Prepares the filter once, because it is applied to very many sessions. */
function fitting(filter: SessionFilter): (session: Session) => boolean {
  const { tenant, agentId, tags = [], metadata = [], createdAfter = "", createdBefore, workingDirectory } = filter;
  const {
    parentSessionId,
    subagentOfSessionId,
    activity,
    outcome,
    model,
    topLevel = false,
    hasUnknownEffect = false,
  } = filter;
  const statuses = filter.status === undefined ? undefined : new Set([filter.status].flat());
  const title = filter.title?.toLowerCase();
  return (session) =>
    session.tenant === tenant &&
    (agentId === undefined || session.agent_id === agentId) &&
    (statuses === undefined || statuses.has(platformStatus(session))) &&
    (activity === undefined || session.status === activity) &&
    (outcome === undefined || session.outcome === outcome) &&
    (model === undefined || session.model === model) &&
    (!topLevel || session.subagent_of_session_id === null) &&
    (!hasUnknownEffect || session.has_unknown_effect) &&
    session.created_at > createdAfter &&
    (createdBefore === undefined || session.created_at < createdBefore) &&
    (parentSessionId === undefined || session.parent_session_id === parentSessionId) &&
    (subagentOfSessionId === undefined || session.subagent_of_session_id === subagentOfSessionId) &&
    (workingDirectory === undefined || session.working_directory === workingDirectory) &&
    tags.every((tag) => session.tags.includes(tag)) &&
    metadata.every((pair) => hasPair(session.metadata, pair)) &&
    (title === undefined || session.title?.toLowerCase().includes(title) === true);
}

function hasPair(metadata: JsonObject, [key, value]: readonly [string, string]): boolean {
  return Object.hasOwn(metadata, key) && lookedFor(key, metadata[key]) === value;
}
