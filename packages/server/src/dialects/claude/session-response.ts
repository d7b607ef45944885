import { platformStatus } from "@skein/core";
import { type Session, type SessionListQuery, type SessionResponse, dollars } from "@skein/protocol";
import type { Caller } from "../../request-context.ts";

const STATUS = { pending: "active", running: "active", completed: "completed", failed: "error" } as const;

/** The statuses of the platform API for each status of the Claude API. */
const PLATFORM = { active: ["pending", "running"], completed: ["completed"], error: ["failed"] } as const;

/** A session in the format of the Claude API. */
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
    // The cost of calls without a price is unknown, not zero.
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
    simulated: session.simulated_calls > 0,
  };
}

/** Returns one page of the matching sessions, newest first, and the number of all matching sessions. */
export async function listSessions(
  { sessions }: Caller,
  { page, page_size, status, tags, search, user, metadata, parent_session_id }: SessionListQuery,
): Promise<{ sessions: SessionResponse[]; total: number; page: number; page_size: number }> {
  const pairs = [...(metadata ?? []).map(pairOf), ...(user === undefined ? [] : [["user", user] as const])];
  const filter = {
    ...(status && { status: PLATFORM[status] }),
    ...(tags && { tags }),
    ...(search !== undefined && { title: search }),
    ...(pairs.length > 0 && { metadata: pairs }),
    ...(parent_session_id !== undefined && { parentSessionId: parent_session_id }),
  };
  const [{ items }, total] = await Promise.all([
    sessions.list({ ...filter, limit: page_size, offset: (page - 1) * page_size }),
    sessions.count(filter),
  ]);
  return { sessions: items.map(sessionResponse), total, page, page_size };
}

function pairOf(pair: string): readonly [key: string, value: string] {
  const colon = pair.indexOf(":");
  return [pair.slice(0, colon), pair.slice(colon + 1)];
}
