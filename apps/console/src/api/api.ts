import { type Client, type Followed, type FollowedChange, type FollowedHistory, SkeinError } from "@skein/client";
import type { RouteInput, RouteOutput } from "@skein/protocol";
import { isUnreachable, pauseUntilBack } from "./connection.ts";
import type { HistoryKey } from "./history-key.ts";
import { askSql, inTurn, type SqlAnswer } from "./sql.ts";

export type Session = RouteOutput<"getSession">;
export type ListedSession = RouteOutput<"listSessions">["data"][number];
/** An open await (a question, an approval or a frontend tool), with its session. */
export type Waiting = RouteOutput<"listTenantAwaits">["data"][number];
export type SqlTable = RouteOutput<"getSqlSchema">["data"][number];
export type SqlExample = RouteOutput<"listSqlExamples">["data"][number];
export type HistorySession = RouteOutput<"listHistorySessions">["data"][number];
export type HistoryDetails = RouteOutput<"getHistorySession">;
export type HistoryMessage = RouteOutput<"listHistoryMessages">["data"][number];
export type HistoryMatch = RouteOutput<"searchHistory">["data"][number];
export type HistoryUsageRow = RouteOutput<"getHistoryUsage">["data"][number];
export type Me = RouteOutput<"getMe">;
export type SessionMatch = RouteOutput<"searchSessions">["data"][number];
export type Agent = RouteOutput<"getAgent">;
export type Sent = RouteOutput<"getRunStep">["data"][number];
export type ApiStep = RouteOutput<"listSteps">["data"][number];
export type Model = RouteOutput<"listModels">["data"][number];
export type ModelTrial = RouteOutput<"testModel">["data"][number];
export type NewModelInput = RouteInput<"addModel">["body"];
export type Webhook = RouteOutput<"listWebhooks">["data"][number];
export type Cap = Me["caps"][number];
export type UsageRow = RouteOutput<"usage">["data"][number];
export type ToolUsageRow = RouteOutput<"toolUsage">["data"][number];
export type AuditEntry = RouteOutput<"listAudit">["data"][number];
export type Health = RouteOutput<"health">;
export type ApiKey = RouteOutput<"listKeys">["data"][number];
export type NewApiKey = RouteInput<"createKey">["body"];
export type KeyScope = ApiKey["scopes"][number];
export type NewAgent = RouteInput<"createAgent">["body"];
export type AgentChange = RouteInput<"patchAgent">["body"];
export type MessageMode = "queue" | "steer" | "interrupt";
export type PromptContent = RouteInput<"postMessage">["body"]["content"];
interface Page<Item> {
  readonly data: Item[];
  readonly next_cursor: string | null;
}

export interface SessionFilter {
  readonly agentId?: string | undefined;
  readonly status?: Session["status"] | undefined;
  readonly activity?: Session["activity"] | undefined;
  readonly outcome?: Session["outcome"] | undefined;
  readonly model?: string | undefined;
  readonly tag?: string | undefined;
  /** Only sessions whose title contains this text. */
  readonly title?: string | undefined;
  /** Whether sessions of subagents are left out. */
  readonly isTopLevel?: boolean | undefined;
  /** Only sessions with a tool call whose effect is unknown. */
  readonly hasUnknownEffect?: boolean | undefined;
}

export type SessionSort = "created" | "last_run" | "cost" | "title";

export interface SessionPageQuery extends SessionFilter {
  readonly sort?: SessionSort;
  readonly offset?: number;
  readonly limit?: number;
  readonly isCounted?: boolean;
}

/** Makes the requests of the console to a server, except those for login and logout (`login.ts`). */
export function createApi(client: Client) {
  const inSession = (session_id: string) => ({ params: { session_id } });
  const inHistory = <Query extends object>({ id, source }: HistoryKey, query = {} as Query) => ({
    ...inSession(id),
    query: { ...query, ...(source !== undefined && { source }) },
  });

  return {
    health: (signal?: AbortSignal) => client.health({ ...(signal && { signal }) }),

    me: () => client.getMe(),
    /** Follows changes of the tenant's sessions until the signal aborts. */
    changes: (options: Parameters<Client["followChanges"]>[0]): AsyncGenerator<FollowedChange> =>
      client.followChanges({ pause: pauseUntilBack, ...options }),

    sessions: (query: SessionPageQuery, signal?: AbortSignal) =>
      client.listSessions({ query: sessionQuery(query), ...(signal && { signal }) }),
    sessionsOf: async (ids: readonly string[]): Promise<readonly Session[]> =>
      (await client.listSessions({ query: { ids: ids.join() } })).data,
    /** Returns the first prompt of each session, by the session's id. */
    firstPrompts: async (ids: readonly string[]): Promise<ReadonlyMap<string, string | null>> => {
      const { data } = await client.listSessions({ query: { ids: ids.join(), include: "first_prompt" } });
      return new Map(data.map(({ id, first_prompt }) => [id, first_prompt ?? null]));
    },
    session: (id: string) => client.getSession(inSession(id)),
    workerOf: async (id: string): Promise<string | null> => (await client.getPlacement(inSession(id))).worker,
    newSession: (agentId: string, title?: string) =>
      client.createSession({ body: { agent_id: agentId, ...(title !== undefined && { title }) } }),
    /** Returns the name of an agent in its last session, or undefined if the agent has no session. */
    agentNameOf: async (agentId: string): Promise<string | undefined> => {
      const { data } = await client.listSessions({ query: { agent_id: agentId, limit: 1 } });
      const [session] = data;
      if (!session) return undefined;
      const log = await client.listEvents({ ...inSession(session.id), query: { limit: 1 } });
      const [created] = log.data;
      const { agent } = (created?.data ?? {}) as { agent?: { name?: unknown } };
      return typeof agent?.name === "string" ? agent.name : undefined;
    },
    rename: (id: string, title: string | null) => client.patchSession({ ...inSession(id), body: { title } }),
    setTags: (id: string, tags: string[]) => client.patchSession({ ...inSession(id), body: { tags } }),
    removeSession: (id: string) => client.deleteSession(inSession(id)),
    /** Exports the session: its log as JSON, or its transcript as an HTML page or as Markdown. */
    exportSession: async (id: string, format: "json" | "html" | "markdown") => {
      const file: unknown = await client.exportSession({ ...inSession(id), query: { format } });
      return blobOf(format === "json" ? JSON.stringify(file) : file);
    },
    importSession: (file: RouteInput<"importSession">["body"]) => client.importSession({ body: file }),
    /** Adopts transcripts of Claude Code. Each file has its path in Claude Code's data directory. */
    adopt: (files: RouteInput<"adoptClaudeSession">["body"]["files"]) => client.adoptClaudeSession({ body: { files } }),
    /** Restores files to a checkpoint. A dry run only lists the changes. */
    rewind: (id: string, checkpointId: string, isDry: boolean) =>
      client.rewindSession({ params: { session_id: id }, body: { checkpoint_id: checkpointId, dry_run: isDry } }),
    /** The changes that a rewind would make to the files, according to the log. */
    rewindDifference: async (id: string, checkpointId: string) =>
      (await client.getFileDiff({ params: { session_id: id }, query: { rewind_to: checkpointId } })).files,
    fork: (id: string, messageId?: string) =>
      client.forkSession({ ...inSession(id), body: messageId === undefined ? {} : { message_id: messageId } }),
    forksOf: async (id: string) => (await client.listSessions({ query: { parent_session_id: id, limit: 200 } })).data,
    subagentsOf: async (id: string) =>
      (await client.listSessions({ query: { subagent_of_session_id: id, limit: 200 } })).data,
    events: (id: string, after: number, signal: AbortSignal, limit = 1000) =>
      client.listEvents({ ...inSession(id), query: { after, limit }, signal }),
    /** Returns the events before a sequence, oldest first. Without a sequence, returns the last events of the log. */
    eventsBefore: (id: string, before: number | undefined, signal: AbortSignal) =>
      client.listEvents({
        ...inSession(id),
        query: { limit: before === undefined ? END : 1000, ...(before === undefined ? { order: "last" } : { before }) },
        signal,
      }),
    follow: (id: string, options: Parameters<Client["follow"]>[1]): AsyncGenerator<Followed> =>
      client.follow(id, { pause: pauseUntilBack, ...options }),
    say: (
      id: string,
      message: { content: PromptContent; mode: MessageMode; idempotencyKey: string; modelId?: string },
    ) =>
      client.postMessage({
        ...inSession(id),
        body: {
          role: "user",
          content: message.content,
          mode: message.mode,
          ...(message.modelId !== undefined && { model_id: message.modelId }),
        },
        idempotencyKey: message.idempotencyKey,
      }),
    cancel: (id: string, runId?: string) =>
      client.cancelSession({ ...inSession(id), body: runId === undefined ? {} : { run_id: runId } }),
    effects: async (id: string) => (await client.listEffects(inSession(id))).data,
    files: async (id: string) => (await client.listFiles(inSession(id))).data,
    file: async (id: string, fileId: string) =>
      blobOf(await client.downloadFile({ params: { session_id: id, file_id: fileId } })),
    /** Returns all model calls of the session with their attempts, oldest first. */
    steps: async (id: string): Promise<ApiStep[]> =>
      everyPage((query) => client.listSteps({ ...inSession(id), query })),
    sentAt: async (id: string, runId: string, step: number): Promise<Sent[]> =>
      (await client.getRunStep({ params: { session_id: id, run_id: runId, step } })).data,

    awaits: async (): Promise<Waiting[]> => everyPage((query) => client.listTenantAwaits({ query })),
    answer: (
      waiting: { sessionId: string; toolUseId: string },
      answer: { content: string; isError?: boolean; updatedInput?: Record<string, unknown> },
    ) =>
      client.answerAwait({
        params: { session_id: waiting.sessionId, tool_use_id: waiting.toolUseId },
        body: {
          content: answer.content,
          is_error: answer.isError ?? false,
          ...(answer.updatedInput && { updated_input: answer.updatedInput }),
        },
      }),

    agents: async (): Promise<Agent[]> => everyPage((query) => client.listAgents({ query })),
    agent: (id: string, version?: number) =>
      client.getAgent({ params: { agent_id: id }, query: version === undefined ? {} : { version } }),
    createAgent: (body: NewAgent) => client.createAgent({ body }),
    changeAgent: (id: string, version: number, body: AgentChange) =>
      client.patchAgent({ params: { agent_id: id }, body, ifMatch: `"${version}"` }),
    archiveAgent: (id: string) => client.archiveAgent({ params: { agent_id: id } }),
    restoreAgent: (id: string) => client.restoreAgent({ params: { agent_id: id } }),
    tools: async () => (await client.listTools()).data,

    keys: async () => (await client.listKeys()).data,
    createKey: (body: NewApiKey) => client.createKey({ body }),
    /** Rotates a key. The old key stays valid for an hour. */
    rotateKey: (id: string) => client.rotateKey({ params: { key_id: id }, body: {} }),
    revokeKey: async (id: string): Promise<undefined> => {
      await client.revokeKey({ params: { key_id: id } });
      return undefined;
    },
    audit: (query: RouteInput<"listAudit">["query"]) => client.listAudit({ query: { limit: 100, ...query } }),
    policy: () => client.getPolicy(),
    policyOfKey: (id: string) => client.getKeyPolicy({ params: { key_id: id } }),

    models: async () => (await client.listModels()).data,
    addModel: (body: NewModelInput) => client.addModel({ body }),
    /** Tests the abilities of a model with small calls. The provider charges for these calls. */
    testModel: (id: string) => client.testModel({ params: { model_id: id } }),
    removeModel: (id: string) => client.removeModel({ params: { model_id: id } }),

    usage: async (query: RouteInput<"usage">["query"]) => (await client.usage({ query })).data,
    toolUsage: async (query: RouteInput<"toolUsage">["query"]) => (await client.toolUsage({ query })).data,

    sqlTables: async () => (await inTurn(() => client.getSqlSchema())).data,
    sqlExamples: async () => (await client.listSqlExamples()).data,
    sql: (statement: string, signal?: AbortSignal): Promise<SqlAnswer> => askSql(client, statement, signal),

    searchSessions: (
      q: string,
      { filter, cursor, signal }: { filter: SessionFilter; cursor: string | undefined; signal: AbortSignal },
    ) => {
      const { limit: _, ...query } = sessionQuery(filter);
      return client.searchSessions({ query: { ...query, q, ...(cursor !== undefined && { cursor }) }, signal });
    },

    historySessions: (query: NonNullable<RouteInput<"listHistorySessions">["query"]>, signal?: AbortSignal) =>
      client.listHistorySessions({ query: { limit: 200, ...query }, ...(signal && { signal }) }),
    historySession: (session: HistoryKey) => client.getHistorySession(inHistory(session)),
    historyMessages: (
      session: HistoryKey,
      { agentId, ...place }: { agentId: string | null; before?: number; after?: number; limit?: number },
      signal?: AbortSignal,
    ) =>
      client.listHistoryMessages({
        ...inHistory(session, { limit: 150, ...place, ...(agentId !== null && { agent_id: agentId }) }),
        ...(signal && { signal }),
      }),
    historyLine: async (session: HistoryKey, offset: number, agentId: string | null) => {
      const { query } = inHistory(session, agentId === null ? {} : { agent_id: agentId });
      return blobOf(await client.getHistoryLine({ params: { session_id: session.id, offset }, query }));
    },
    historyFiles: async (session: HistoryKey) => (await client.listHistoryFiles(inHistory(session))).data,
    historyFile: async (session: HistoryKey, path: string, version: number) =>
      blobOf(await client.getHistoryFile(inHistory(session, { path, version }))),
    exportHistory: async (session: HistoryKey, format: "html" | "markdown" | "json") =>
      blobOf(await client.exportHistorySession(inHistory(session, { format }))),
    adoptHistory: (session: HistoryKey) => client.adoptHistorySession(inHistory(session)),
    searchHistory: (q: string, source: string | undefined, signal?: AbortSignal) =>
      client.searchHistory({
        query: { q, limit: 100, ...(source !== undefined && { source }) },
        ...(signal && { signal }),
      }),
    historyUsage: async (query: RouteInput<"getHistoryUsage">["query"]) =>
      (await client.getHistoryUsage({ query })).data,
    historyChanges: (options: Parameters<Client["followHistory"]>[0]): AsyncGenerator<FollowedHistory> =>
      client.followHistory({ pause: pauseUntilBack, ...options }),

    webhooks: async () => (await client.listWebhooks()).data,
    createWebhook: (body: RouteInput<"createWebhook">["body"]) => client.createWebhook({ body }),
    removeWebhook: (id: string) => client.deleteWebhook({ params: { webhook_id: id } }),
    deliveries: async (id: string) =>
      (await client.listDeliveries({ params: { webhook_id: id }, query: { limit: 50 } })).data,
    redeliver: (id: string, deliveryId: string) =>
      client.redeliver({ params: { webhook_id: id, delivery_id: deliveryId } }),
    changeWebhook: (id: string, body: RouteInput<"patchWebhook">["body"]) =>
      client.patchWebhook({ params: { webhook_id: id }, body }),
  };
}

/** The number of events that are read first. They fill a screen, and are few enough to be sent quickly. */
const END = 400;

export type Api = ReturnType<typeof createApi>;

function sessionQuery(query: SessionPageQuery): NonNullable<RouteInput<"listSessions">["query"]> {
  const { agentId, status, activity, outcome, model, tag, title, isTopLevel, hasUnknownEffect } = query;
  const { sort, offset, isCounted } = query;
  return {
    limit: query.limit ?? 200,
    include: "has_queued_prompt",
    ...(agentId !== undefined && { agent_id: agentId }),
    ...(status !== undefined && { status }),
    ...(activity !== undefined && { activity }),
    ...(outcome !== undefined && outcome !== null && { outcome }),
    ...(model !== undefined && { model }),
    ...(tag !== undefined && { tag }),
    ...(title !== undefined && { title }),
    ...(isTopLevel === true && { top_level: "true" }),
    ...(hasUnknownEffect === true && { has_unknown_effect: "true" }),
    ...(sort !== undefined && { sort }),
    ...(offset !== undefined && { offset }),
    ...(isCounted === true && { count: "true" }),
  };
}

/** Returns the body of an HTTP response as a Blob. */
function blobOf(content: unknown): Blob {
  return new Blob([content as ArrayBuffer | string], { type: "application/octet-stream" });
}

/** Returns the items of all pages of a list. */
async function everyPage<Item>(
  page: (query: { limit: number; cursor?: string }) => Promise<Page<Item>>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const { data, next_cursor } = await page({ limit: 200, ...(cursor !== undefined && { cursor }) });
    all.push(...data);
    cursor = next_cursor;
  }
  return all;
}

/** Returns the error as a sentence for a person. */
export function sentenceOf(error: unknown): string {
  if (error instanceof SkeinError) {
    if (error.status === 401) return "The key is not known here, or it was revoked. Log in with another key.";
    return error.message;
  }
  if (isUnreachable(error)) return "The server cannot be reached. It may be restarting.";
  return error instanceof Error ? error.message : String(error);
}

export function isUnauthorized(error: unknown): boolean {
  return error instanceof SkeinError && error.status === 401;
}

/** Whether the same request would be rejected again. */
export function isFinal(error: unknown): boolean {
  return error instanceof SkeinError && error.status < 500 && error.status !== 408 && error.status !== 429;
}

/** Whether the page does not exist: the id in its URL is unknown (404), or is not an id (422). */
export function isMissing(error: unknown): boolean {
  return error instanceof SkeinError && (error.status === 404 || error.status === 422);
}
