import { type Client, SkeinError } from "@skein/client";
import { type Page, type SessionQuery, type SessionState, emptyState, fold } from "@skein/core";
import { type ApiSession, type Event, KnownError, type Message, type MessageRow, type Run } from "@skein/protocol";
import type { OpenedSessions, SeenSession } from "./session-calls.ts";

/** How many events are requested at once. */
const EVENTS = 1000;

/** Creates the functions for sessions of a server. They compute data from the log if the API does not return it. */
export function createServerSessions(client: Client): OpenedSessions {
  const states = new Map<string, SessionState>();
  const params = (session_id: string) => ({ params: { session_id } });

  async function events(
    sessionId: string,
    { after = 0, limit = Number.POSITIVE_INFINITY }: { after?: number; limit?: number } = {},
  ): Promise<readonly Event[]> {
    const all: Event[] = [];
    for (let from: number | null = after; from !== null && all.length < limit;) {
      const query = { after: from, limit: Math.min(EVENTS, limit - all.length) };
      const page: { data: readonly unknown[]; next_after: number | null } = await client.listEvents({
        ...params(sessionId),
        query,
      });
      all.push(...(page.data as Event[]));
      from = page.next_after;
    }
    return all;
  }

  async function state(sessionId: string): Promise<SessionState> {
    const known = states.get(sessionId) ?? emptyState(sessionId);
    const now = fold(known, await events(sessionId, { after: known.sequence }));
    states.set(sessionId, now);
    return now;
  }

  return {
    events,
    state,
    get: async (id) => seen(await client.getSession(params(id))),
    async list(query = {}) {
      const { data, next_cursor } = await client.listSessions({ query: queryOf(query) });
      return { items: data.filter((session) => isIn(session, query)).map(seen), cursor: next_cursor };
    },
    async messages(id, { limit = 100, cursor } = {}) {
      const query = { limit: Math.min(200, limit), ...(cursor !== undefined && { cursor }) };
      const { data, next_cursor } = await client.listMessages({ ...params(id), query });
      return { items: data as readonly unknown[] as readonly MessageRow[], cursor: next_cursor };
    },
    async transcript(id) {
      const all: Message[] = [];
      for (let next: string | null | undefined; next !== null;) {
        const query = { format: "blocks" as const, limit: 200, ...(next !== undefined && { cursor: next }) };
        const page: { data: readonly unknown[]; next_cursor: string | null } = await client.listMessages({
          ...params(id),
          query,
        });
        all.push(...(page.data as Message[]));
        next = page.next_cursor;
      }
      return all;
    },
    async runs(id, { limit = 50, cursor } = {}): Promise<Page<Run>> {
      const query = { limit: Math.min(200, limit), ...(cursor !== undefined && { cursor }) };
      const { data, next_cursor } = await client.listRuns({ ...params(id), query });
      return { items: data as readonly unknown[] as readonly Run[], cursor: next_cursor };
    },
    async *follow(id, { after = 0 }, signal) {
      for await (const followed of client.follow(id, { after, signal }))
        if (followed.type === "event") yield followed.event;
    },
    async awaits(id) {
      const { data } = await client.listAwaits(params(id));
      return data.map((wait) => ({ ...wait, closed_at: null, resolution: null }));
    },
    async prompt(id, { content, mode = "queue" }) {
      const body = { role: "user" as const, content: { text: content }, mode };
      const accepted = await client.postMessage({ ...params(id), body });
      return { runId: accepted.run_id, sequence: accepted.event_sequence };
    },
    async answer(sessionId, toolUseId, { content, isError = false }) {
      const body = { content: content as string, is_error: isError };
      const path = { params: { session_id: sessionId, tool_use_id: toolUseId } };
      try {
        const { disposition, reason, event_sequence: sequence } = await client.answerAwait({ ...path, body });
        return { sessionId, toolUseId, disposition, reason, sequence };
      } catch (error) {
        if (!(error instanceof SkeinError) || error.code !== "not_awaiting") throw error;
        return { sessionId, toolUseId, disposition: "refused", reason: error.message, sequence: null };
      }
    },
    async cancel(id, { runId, reason } = {}) {
      const body = { ...(runId !== undefined && { run_id: runId }), ...(reason !== undefined && { reason }) };
      const { run_id, event_sequence } = await client.cancelSession({ ...params(id), body });
      return { id: run_id, sequence: event_sequence };
    },
    async fork(id, { messageId, title } = {}) {
      const body = { ...(messageId !== undefined && { message_id: messageId }), ...(title !== undefined && { title }) };
      return seen(await client.forkSession({ ...params(id), body }));
    },
    async import(log) {
      const [first] = log as readonly { readonly session_id?: unknown }[];
      if (typeof first?.session_id !== "string") throw new KnownError("invalid", "There are no events to import.");
      const file = { format: "skein.session", version: 1, session_id: first.session_id, events: log } as const;
      return seen(await client.importSession({ body: file as never }));
    },
    async delete(id) {
      await client.deleteSession(params(id));
    },
  };
}

/** The platform API's status is less detailed, so the session's activity is used as its status. */
function seen({ activity, ...session }: ApiSession): SeenSession {
  return { ...session, status: activity };
}

function queryOf({
  status,
  activity,
  tags,
  parentSessionId,
  subagentOfSessionId,
  ...query
}: Omit<SessionQuery, "tenant">) {
  const given = {
    status: typeof status === "string" ? status : undefined,
    activity,
    tag: tags?.[0],
    parent_session_id: parentSessionId,
    subagent_of_session_id: subagentOfSessionId,
    cursor: query.cursor,
    limit: query.limit,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Filters sessions by time, because the API has no such filter. */
function isIn({ created_at }: ApiSession, { createdAfter, createdBefore }: Omit<SessionQuery, "tenant">): boolean {
  return (
    (createdAfter === undefined || created_at >= createdAfter) &&
    (createdBefore === undefined || created_at < createdBefore)
  );
}
