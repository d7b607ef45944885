import { type Page, type SessionAgent, type SessionFilter, type Standing, platformStatus } from "@skein/core";
import { ApiSession, KnownError, type Session, type SessionPage, isKnownError } from "@skein/protocol";
import {
  type RequestContext,
  type Caller,
  type CheckedAnswer,
  type Handlers,
  sessionIn,
} from "../../request-context.ts";
import { savedFile } from "../../http/saved-file.ts";
import { deleteSession } from "../../delete-session.ts";
import { PLACES, cursorOf, placeOf } from "../../http/cursor.ts";
import { checkAgent, checkOpen } from "../claude/rights.ts";
import { firstPromptsOf } from "./first-prompts.ts";
import { modelNamed } from "./model-of-message.ts";

/** Sessions: create, list, change, fork, cancel, delete, export. */
export const sessionHandlers = {
  async createSession({ body: { agent_id, ...body } }, call) {
    // An unknown agent in the body is an error in the body (422), not a missing resource (404).
    const agent = await call.agents.get(agent_id).catch((error: unknown) => {
      throw isKnownError(error, "not_found") ? new KnownError("invalid", `There is no agent ${agent_id}.`) : error;
    });
    return createFor(agent, body, call);
  },
  async createAgentSession({ params, body }, call) {
    return createFor(await call.agents.get(params.agent_id), body, call);
  },
  listSessions: ({ query: { agent_id, ...query } }, call) => listed(call, query, agent_id),
  async listAgentSessions({ params, query }, call) {
    await call.agents.get(params.agent_id);
    return listed(call, query, params.agent_id);
  },
  async searchSessions({ query: { q, agent_id, limit, cursor, include, ...query } }, call) {
    const found = await call.sessions.search({
      ...filterOf(query, agent_id),
      text: q,
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor: placeOf(cursor, PLACES.session) }),
    });
    const sessions = found.items.map(({ session }) => session);
    const rows = await withSummaries(call, sessions, include?.split(",") ?? []);
    const rowOf = new Map(rows.map((row) => [row.id, row]));
    return {
      data: found.items.map(({ session, ...match }) => ({ session: rowOf.get(session.id) ?? wire(session), ...match })),
      next_cursor: cursorOf(found.cursor),
      searched_until: found.searchedUntil,
    };
  },
  async getSession({ params }, call) {
    const session = await sessionIn(call, params);
    const [unserved, queued] = await Promise.all([unservedOf(call, session), queuedOf(call, session)]);
    if (unserved === undefined && !queued) return { checked: sessionText(session) };
    return { ...wire(session), ...(unserved !== undefined && { unserved }), ...(queued && { queued }) };
  },
  async patchSession({ params, body: { title, tags, model_id } }, call) {
    const session = await sessionIn(call, params);
    if (title === undefined && !tags && model_id === undefined) return wire(session);
    const { id } = session;
    if (model_id) await modelNamed(call, model_id);
    const edited = await call.sessions.edit(id, {
      ...(title !== undefined && { title }),
      ...(tags && { tags }),
      ...(model_id !== undefined && { modelId: model_id }),
    });
    return wire(edited);
  },
  async deleteSession({ params }, call) {
    const { id } = await sessionIn(call, params);
    await deleteSession(call, id);
    return undefined;
  },
  async forkSession({ params, body: { message_id, title } }, call) {
    const { id } = await sessionIn(call, params);
    call.shared.meter.session(call.principal.keyId);
    const at = {
      openedBy: call.principal.name,
      ...(message_id !== undefined && { messageId: message_id }),
      ...(title !== undefined && { title }),
    };
    const fork = await call.sessions.fork(id, at, call.idempotency);
    await call.shared.deps.claude?.inherit(id, fork.id, call.principal);
    return wire(fork);
  },
  cancelSession: ({ params, body }, call) => requestCancel(call, params, body),
  async exportSession({ params, query: { format } }, call) {
    const session = await sessionIn(call, params);
    const { id } = session;
    const events = await call.sessions.events(id);
    if (format !== "json") {
      const { adoption } = call.shared.deps;
      if (!adoption) throw new KnownError("not_found", "This server exports sessions only as JSON. Use format=json.");
      const page = await adoption.pageOf(session, events, format);
      return savedFile(Buffer.from(page), `session-${id}.${format === "html" ? "html" : "md"}`);
    }
    call.reply.header("content-disposition", `attachment; filename="session-${id}.json"`);
    return { format: "skein.session" as const, version: 1 as const, session_id: id, events: [...events] };
  },
  async importSession({ body }, call) {
    call.shared.meter.session(call.principal.keyId);
    return wire(await call.sessions.import(body.events, call.idempotency));
  },
} satisfies Partial<Handlers>;

/** Returns the queue position of a session whose prompt waits. */
async function queuedOf({ shared }: RequestContext, session: Session): Promise<Standing | undefined> {
  if (session.status === "awaiting") return undefined;
  const { store, drivingQueue, queuedRun, largeSessions } = shared.deps;
  const capped = (await queuedRun?.(session.id)) ?? largeSessions?.standing(session.id);
  const queue = drivingQueue?.();
  // A process that runs no sessions does not know whether another process could run this session now.
  const isFree = queue && queue.places > 0 && queue.waiting === 0;
  if (capped || !queue || isFree) return capped;
  const due = await store.due({ before: shared.now(), perTenant: 1000, limit: 1000 });
  const ofTenant = due.filter(({ tenant }) => tenant === session.tenant);
  const at = ofTenant.findIndex(({ sessionId }) => sessionId === session.id);
  if (at === -1) return undefined;
  return { place: at + 1, reason: "This server runs as many sessions at once as it can. Tenants take turns." };
}

/**
 * Sessions that are due (have work for a worker) within this time count as due. If a worker cannot run a session, the
 * session is due again a second later.
 */
const SOON_MS = 2000;

/** Returns the sessions that are due soon. An idle session is due only because of a prompt. */
async function withQueuedPrompt({ shared }: RequestContext): Promise<ReadonlySet<string>> {
  const due = await shared.deps.store.due({ before: shared.now() + SOON_MS, perTenant: 1000, limit: 1000 });
  return new Set(due.map(({ sessionId }) => sessionId));
}

/** Returns the requirement of this session that no running worker meets. */
async function unservedOf({ shared }: RequestContext, { id, status }: Session): Promise<string | undefined> {
  return status === "awaiting"
    ? undefined
    : (await shared.unserved()).find(({ sessionId }) => sessionId === id)?.missing;
}

/** Requests the cancellation of a run. */
export async function requestCancel(
  call: Caller,
  params: { session_id: string; agent_id?: string | undefined },
  { run_id, reason }: { run_id?: string | undefined; reason?: string | undefined },
): Promise<{ run_id: string; event_sequence: number }> {
  const { id } = await sessionIn(call, params);
  const which = {
    ...(run_id !== undefined && { runId: run_id }),
    ...(reason !== undefined && { reason }),
  };
  const run = await call.sessions.cancel(id, which, call.idempotency);
  return { run_id: run.id, event_sequence: run.sequence };
}

/**
 * The JSON of each session. A store returns the same object while nothing has changed, so the object is checked and
 * serialised once.
 */
const texts = new WeakMap<Session, string>();

export function sessionText(session: Session): string {
  const known = texts.get(session);
  if (known !== undefined) return known;
  const text = JSON.stringify(ApiSession.parse(wire(session)));
  texts.set(session, text);
  return text;
}

/** The JSON of each page of sessions. */
const pageTexts = new WeakMap<Page<Session>, string>();

function pageText(page: Page<Session>): string {
  const known = pageTexts.get(page);
  if (known !== undefined) return known;
  const next = JSON.stringify(cursorOf(page.cursor));
  const text = `{"data":[${page.items.map(sessionText).join(",")}],"next_cursor":${next}}`;
  pageTexts.set(page, text);
  return text;
}

/** Converts a session to the format of the API, with the platform API's status. */
function wire(session: Session): ApiSession {
  return {
    ...session,
    status: platformStatus(session),
    activity: session.status,
    estimated: session.estimated_calls > 0,
    simulated: session.simulated_calls > 0,
  };
}

async function createFor(
  agent: SessionAgent,
  body: { title: string | null; tags: string[]; model_id: string | null; metadata: Record<string, unknown> },
  call: RequestContext,
): Promise<ApiSession> {
  const { title, tags, model_id: modelId, metadata } = body;
  const { claude } = call.shared.deps;
  const gate = agent.config.runtime === "claude-code" ? claude : undefined;
  if (gate) await checkOpen(gate, call);
  checkAgent(call, agent.config);
  if (modelId) await modelNamed(call, modelId);
  call.shared.meter.session(call.principal.keyId);
  const session = await call.sessions.create(
    agent,
    { title, tags, modelId, metadata, openedBy: call.principal.name },
    call.idempotency,
  );
  // From now on the rules of this key apply to the session.
  await gate?.admit({}, { principal: call.principal, sessionId: session.id });
  return wire(session);
}

/** The store's names for the sort orders of lists. */
const ORDERS = { created: "begun", last_run: "used", cost: "cost", title: "title" } as const;

interface ListQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
  readonly status?: ApiSession["status"] | undefined;
  readonly activity?: ApiSession["activity"] | undefined;
  readonly outcome?: ApiSession["outcome"] | undefined;
  readonly model?: string | undefined;
  readonly title?: string | undefined;
  readonly ids?: string | undefined;
  readonly offset?: number | undefined;
  readonly top_level?: "true" | "false" | undefined;
  readonly has_unknown_effect?: "true" | "false" | undefined;
  readonly sort?: keyof typeof ORDERS | undefined;
  readonly count?: "true" | "false" | undefined;
  readonly include?: string | undefined;
  readonly tag?: string | readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly parent_session_id?: string | undefined;
  readonly subagent_of_session_id?: string | undefined;
}

async function listed(
  call: RequestContext,
  query: ListQuery,
  agentId: string | undefined,
): Promise<SessionPage | CheckedAnswer> {
  const { limit, cursor, offset, sort, count, include } = query;
  const filter = filterOf(query, agentId);
  const isCounted = sort === "cost" || sort === "title";
  if (query.ids !== undefined) return named(call, query.ids.split(","), include);
  const page = await call.sessions.list({
    ...filter,
    ...(limit !== undefined && { limit }),
    ...(cursor !== undefined && { cursor: placeOf(cursor, isCounted ? PLACES.number : PLACES.session) }),
    ...(offset !== undefined && { offset }),
    ...(sort !== undefined && { order: ORDERS[sort] }),
  });
  if (count !== "true" && include === undefined) return { checked: pageText(page) };
  return {
    data: await withSummaries(call, page.items, include?.split(",") ?? []),
    next_cursor: cursorOf(page.cursor),
    ...(count === "true" && { total: await call.sessions.count(filter) }),
  };
}

/** The sessions with these ids, in the order of their last change. Unknown ids are left out. */
async function named(call: RequestContext, ids: readonly string[], include: string | undefined): Promise<SessionPage> {
  const { items } = await call.shared.deps.store.changed({
    tenant: call.principal.tenant,
    sessionIds: ids,
    limit: ids.length,
  });
  const sessions = items.map(({ session }) => session);
  return { data: await withSummaries(call, sessions, include?.split(",") ?? []), next_cursor: null };
}

function filterOf(query: ListQuery, agentId: string | undefined): Omit<SessionFilter, "tenant"> {
  const { status, activity, outcome, model, title, top_level, has_unknown_effect, tag, from, to } = query;
  const { parent_session_id, subagent_of_session_id } = query;
  return {
    ...(status && { status }),
    ...(activity && { activity }),
    ...(outcome && { outcome }),
    ...(model !== undefined && { model }),
    ...(title !== undefined && { title }),
    ...(top_level === "true" && { topLevel: true }),
    ...(has_unknown_effect === "true" && { hasUnknownEffect: true }),
    ...(tag !== undefined && { tags: [tag].flat() }),
    // The store's bound is exclusive and has whole milliseconds, so 1 ms less includes sessions at `from`.
    ...(from !== undefined && { createdAfter: new Date(Date.parse(from) - 1).toISOString() }),
    ...(to !== undefined && { createdBefore: new Date(to).toISOString() }),
    ...(parent_session_id !== undefined && { parentSessionId: parent_session_id }),
    ...(subagent_of_session_id !== undefined && { subagentOfSessionId: subagent_of_session_id }),
    ...(agentId !== undefined && { agentId }),
  };
}

/** Adds the summary of each session to a page, if `include` asks for it. */
async function withSummaries(
  call: RequestContext,
  sessions: readonly Session[],
  include: readonly string[],
): Promise<SessionPage["data"]> {
  const ids = sessions.map(({ id }) => id);
  const isSummed = include.includes("last_message") || include.includes("open_awaits");
  const found = isSummed ? await call.shared.deps.store.summaries(call.principal.tenant, ids) : [];
  const prompts = include.includes("first_prompt") ? await firstPromptsOf(call, sessions) : undefined;
  const queued = include.includes("has_queued_prompt") ? await withQueuedPrompt(call) : undefined;
  const summaries = new Map(found.map((summary) => [summary.sessionId, summary]));
  return sessions.map((session) => {
    const { lastMessage = null, openAwaits = [] } = summaries.get(session.id) ?? {};
    const count = (kind: (typeof openAwaits)[number]): number => openAwaits.filter((one) => one === kind).length;
    return {
      ...wire(session),
      ...(prompts && { first_prompt: prompts.get(session.id) ?? null }),
      ...(include.includes("last_message") && { last_message: lastMessage }),
      ...(queued && { has_queued_prompt: session.status === "idle" && queued.has(session.id) }),
      ...(include.includes("open_awaits") && {
        open_awaits: {
          frontend_tool: count("frontend_tool"),
          question: count("question"),
          approval: count("approval"),
          subagent: count("subagent"),
        },
      }),
    };
  });
}
