import { platformStatus } from "@skein/core";
import { type Session, type SessionListQuery, type SessionResponse, dollars } from "@skein/protocol";
import type { Caller } from "../call.ts";

const STATUS = { pending: "active", running: "active", completed: "completed", failed: "error" } as const;

/** A session in the seed's words. */
export function sessionResponse(session: Session): SessionResponse {
  const { metadata, cost_micros, unpriced_calls } = session;
  const { user } = metadata;
  return {
    id: session.id,
    status: STATUS[platformStatus(session)],
    model: session.model,
    created_at: session.created_at,
    updated_at: session.updated_at,
    total_turns: session.total_turns,
    // What has no price is unknown, and not for nothing.
    total_cost_usd: cost_micros === 0 && unpriced_calls > 0 ? null : dollars(cost_micros),
    parent_session_id: session.parent_session_id,
    title: session.title,
    tags: session.tags,
    user: typeof user === "string" ? user : null,
    metadata,
    working_directory: session.working_directory,
    last_message_at: session.last_run_at,
    usage: session.usage,
    activity: session.status,
  };
}

/** One page of the sessions that fit, newest first, and how many there are. */
export async function listSessions(
  { sessions }: Caller,
  query: SessionListQuery,
): Promise<{ sessions: SessionResponse[]; total: number; page: number; page_size: number }> {
  const { page, page_size, parent_session_id, tags } = query;
  const first = (page - 1) * page_size;
  const found: SessionResponse[] = [];
  let total = 0;
  for (let cursor: string | null | undefined; cursor !== null;) {
    const stored = await sessions.list({
      limit: 200,
      ...(cursor !== undefined && { cursor }),
      ...(parent_session_id !== undefined && { parentSessionId: parent_session_id }),
      ...(tags?.[0] !== undefined && { tag: tags[0] }),
    });
    for (const session of stored.items) {
      const response = sessionResponse(session);
      if (!fits(response, query)) continue;
      if (total >= first && found.length < page_size) found.push(response);
      total += 1;
    }
    cursor = stored.cursor;
  }
  return { sessions: found, total, page, page_size };
}

function fits(session: SessionResponse, { status, tags, search, user, metadata }: SessionListQuery): boolean {
  if (status !== undefined && session.status !== status) return false;
  if (tags?.some((tag) => !session.tags.includes(tag))) return false;
  if (search !== undefined && !session.title?.toLowerCase().includes(search.toLowerCase())) return false;
  if (user !== undefined && session.user !== user) return false;
  return !metadata?.some((pair) => !hasPair(session.metadata, pair));
}

function hasPair(metadata: Readonly<Record<string, unknown>>, pair: string): boolean {
  const colon = pair.indexOf(":");
  const key = pair.slice(0, colon);
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === pair.slice(colon + 1);
}
