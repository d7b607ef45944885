import {
  Content,
  type Event,
  type Fact,
  type Ids,
  type JsonObject,
  KnownError,
  type Message,
  type MessageRow,
  type NewEvent,
  type Run,
  type Session,
  type ToolUsageRow,
  type UsageRow,
  createIds,
  isKnownError,
} from "@skein/protocol";
import type { z } from "zod";
import type { SessionAgent } from "./agents.ts";
import { type Accepted, acceptedOf } from "./accepted-prompt.ts";
import { type Answered, answerAwait } from "./answers.ts";
import { sessionNotFound } from "../log/append-rules.ts";
import { answerProblem } from "./content-problem.ts";
import { type DriverRequests, type Key, createDriverRequests } from "./driver-requests.ts";
import { parseInput } from "./parse-input.ts";
import { fold, foldAll, restore } from "../log/fold.ts";
import { project } from "../log/projection.ts";
import { applyChanges } from "../memory-store/memory-tables.ts";
import type { FollowOptions } from "../log/followers.ts";
import { forgetParked } from "../run/parking.ts";
import { type ForkOptions, forkFacts } from "./fork.ts";
import { NOWHERE, appendToFullQueue } from "./full-queue.ts";
import { importedLog } from "./import-log.ts";
import type { Engine, Taken } from "../ports/engine.ts";
import { CreateOptions, EditOptions, PromptOptions, checkPrompt } from "./session-options.ts";
import { type SessionState, emptyState } from "../log/state.ts";
import { type TextMatches, type TextQuery, searchSessions } from "./text-search.ts";
import { promptAccepted, sessionCreated, sessionEdited } from "./session-facts.ts";
import { answerForDeleted } from "./subagents.ts";
import type {
  Appended,
  Page,
  PageOptions,
  SessionFilter,
  SessionQuery,
  Store,
  ToolUsageQuery,
  UsageQuery,
} from "../ports/store.ts";

export interface SessionsDeps {
  readonly store: Store;
  /** The tenant of the sessions. Sessions of other tenants are not found. */
  readonly tenant?: string;
  readonly now?: () => number;
  readonly ids?: Ids;
  /**
   * Reserves a place in this process for a session that gets a prompt. If undefined, any worker may claim the session.
   */
  readonly reserve?: Engine["reserve"] | undefined;
  /** The name of the API key of the requests. The caps of this key apply to the runs that the requests start. */
  readonly keyName?: string | undefined;
  /** The most prompts that may wait in a session. Default: no limit. */
  readonly mostQueued?: number | undefined;
  /** Removes data that is stored outside the log, such as files and memories. May be called twice. */
  readonly forget?: ((session: { readonly tenant: string; readonly sessionId: string }) => Promise<void>) | undefined;
}

/** All operations on sessions. The server, the command line and the library use only this interface. */
export interface Sessions extends DriverRequests {
  create(agent: SessionAgent, options?: z.input<typeof CreateOptions>, key?: Key): Promise<Session>;
  /** Creates a session and accepts its first prompt, in one transaction. */
  begin(
    agent: SessionAgent,
    prompt: string | z.input<typeof PromptOptions>,
    options?: z.input<typeof CreateOptions>,
    key?: Key,
  ): Promise<Accepted>;
  prompt(sessionId: string, prompt: string | z.input<typeof PromptOptions>, key?: Key): Promise<Accepted>;
  answer(
    sessionId: string,
    toolUseId: string,
    answer: { content: Content; isError?: boolean; updatedInput?: JsonObject | undefined },
    key?: Key,
  ): Promise<Answered>;
  edit(sessionId: string, edit: z.input<typeof EditOptions>): Promise<Session>;
  /** Creates a session that begins with a copy of the transcript. The parent is not changed. */
  fork(sessionId: string, options?: ForkOptions, key?: Key): Promise<Session>;
  /**
   * Forks a session and accepts the first prompt of the fork, in one transaction. So a crash cannot leave a fork
   * without its prompt.
   */
  beginFork(
    sessionId: string,
    prompt: string | z.input<typeof PromptOptions>,
    options?: ForkOptions,
    key?: Key,
  ): Promise<Accepted>;
  /**
   * Creates a session from the log of an idle session, in one transaction. `log` has the format of `events`. The store
   * gives the new events the time of the import.
   */
  import(log: readonly unknown[], key?: Key): Promise<Session>;
  delete(sessionId: string): Promise<void>;

  get(sessionId: string): Promise<Session>;
  list(query?: Omit<SessionQuery, "tenant">): Promise<Page<Session>>;
  count(filter?: Omit<SessionFilter, "tenant">): Promise<number>;
  usage(query: Omit<UsageQuery, "tenant">): Promise<readonly UsageRow[]>;
  toolUsage(query: Omit<ToolUsageQuery, "tenant">): Promise<readonly ToolUsageRow[]>;
  /** Finds sessions whose messages contain a text. The session with the latest run comes first. */
  search(query: Omit<TextQuery, "tenant">): Promise<TextMatches>;
  messages(sessionId: string, options?: Omit<PageOptions, "tenant">): Promise<Page<MessageRow>>;
  /** The messages with their blocks, as the model and people see them. */
  transcript(sessionId: string): Promise<readonly Message[]>;
  runs(sessionId: string, options?: Omit<PageOptions, "tenant">): Promise<Page<Run>>;
  events(sessionId: string, options?: { after?: number; limit?: number }): Promise<readonly Event[]>;
  follow(sessionId: string, options: Partial<FollowOptions>, signal: AbortSignal): AsyncIterable<Event>;
  /** Folds the log, starting from its snapshot if there is one. */
  state(sessionId: string): Promise<SessionState>;
}

export function createSessions({
  store,
  tenant = "default",
  now = Date.now,
  ids = createIds({ now }),
  reserve,
  keyName,
  mostQueued = Infinity,
  forget,
}: SessionsDeps): Sessions {
  const event = (fact: Fact): NewEvent => ({ ...fact, id: ids() });

  async function get(sessionId: string): Promise<Session> {
    const session = await store.get(sessionId, { tenant });
    if (!session) throw sessionNotFound(sessionId);
    return session;
  }

  async function state(sessionId: string): Promise<SessionState> {
    await get(sessionId);
    const snapshot = await store.readSnapshot(sessionId);
    const start = (snapshot && restore(snapshot)) ?? emptyState(sessionId);
    return fold(start, await store.read(sessionId, { tenant, after: start.sequence }));
  }

  function created(agent: SessionAgent, options: z.input<typeof CreateOptions>): { id: string; fact: Fact } {
    if (agent.status === "archived")
      throw new KnownError("archived", `Agent ${agent.id} is archived and takes no new sessions.`);
    const {
      id = ids(),
      title,
      tags,
      modelId,
      workingDirectory,
      metadata,
      subagentOf,
      openedBy,
    } = parseInput(CreateOptions, options);
    const fact = sessionCreated({
      tenant,
      agent_id: agent.id,
      agent_version: agent.version,
      agent: agent.config,
      title,
      tags,
      model_id: modelId,
      working_directory: workingDirectory,
      metadata,
      subagent_of: subagentOf,
      ...(openedBy !== undefined && { opened_by: openedBy }),
    });
    return { id, fact };
  }

  function accepted(input: string | z.input<typeof PromptOptions>): Fact {
    const options = typeof input === "string" ? { content: input } : input;
    const { content, mode, model, maxCostMicros, options: own } = parseInput(PromptOptions, options);
    checkPrompt(content);
    const data = { message_id: ids(), run_id: ids(), mode, content, model, max_cost_micros: maxCostMicros };
    return promptAccepted({
      ...data,
      ...(keyName !== undefined && { key_name: keyName }),
      ...(own && { options: own }),
    });
  }

  async function create(agent: SessionAgent, options: z.input<typeof CreateOptions> = {}, key?: Key): Promise<Session> {
    const { id, fact } = created(agent, options);
    const { events, repeated } = await store.append(id, [event(fact)], { expect: 0, ...(key && { key }) });
    // A new session is computed without a query. If the request is a repetition, the existing session is read.
    return repeated ? get(events[0]?.session_id ?? id) : applyChanges(undefined, project(events)).session;
  }

  async function begin(
    agent: SessionAgent,
    input: string | z.input<typeof PromptOptions>,
    options: z.input<typeof CreateOptions> = {},
    key?: Key,
  ): Promise<Accepted> {
    const { id, fact } = created(agent, options);
    return appendFirst({ store, now, reserve, tenant }, { id, events: [fact, accepted(input)].map(event), key });
  }

  async function prompt(
    sessionId: string,
    input: string | z.input<typeof PromptOptions>,
    key?: Key,
  ): Promise<Accepted> {
    const facts = [event(accepted(input))];
    const begun = await appendPrompt({ store, now, reserve, tenant }, { id: sessionId, events: facts, key });
    if (begun) return acceptedOf(begun);
    const options = { tenant, dueAt: now(), ...(key && { key }) };
    const isFull = Number.isFinite(mostQueued) && (await state(sessionId)).queue.length >= mostQueued;
    if (isFull)
      return acceptedOf(await appendToFullQueue(store, { id: sessionId, events: facts, options }, mostQueued));
    if (typeof input === "string" || !input.whenIdle) return acceptedOf(await store.append(sessionId, facts, options));
    let seenAt = typeof input.whenIdle === "object" ? input.whenIdle.seenAt : undefined;
    for (;;) {
      const { run, queue, sequence } =
        seenAt === undefined ? await state(sessionId) : { run: null, queue: [], sequence: seenAt };
      seenAt = undefined;
      const isBusy = run !== null || queue.length > 0;
      try {
        // The append fails if the session is not idle any more. For a busy session it expects NOWHERE, where no log
        // ends: the append then fails unless it repeats an earlier prompt.
        return acceptedOf(await store.append(sessionId, facts, { ...options, expect: isBusy ? NOWHERE : sequence }));
      } catch (error) {
        if (isBusy && isKnownError(error, "conflict"))
          throw new KnownError("conflict", `Session ${sessionId} has a run that is not over.`);
        if (!isKnownError(error, "conflict")) throw error;
      }
    }
  }

  async function forked(sessionId: string, options: ForkOptions = {}) {
    const log = await store.read(sessionId, { tenant });
    return forkFacts(foldAll(sessionId, log), log, options, { now, ids });
  }

  async function edit(sessionId: string, input: z.input<typeof EditOptions>): Promise<Session> {
    const { modelId, ...rest } = parseInput(EditOptions, input);
    const data = { ...rest, ...(modelId !== undefined && { model_id: modelId }) };
    await store.append(sessionId, [event(sessionEdited(data))], { tenant });
    return get(sessionId);
  }

  return {
    create,
    begin,
    prompt,
    async answer(sessionId, toolUseId, { content, isError = false, updatedInput }, key) {
      const data = { tool_use_id: toolUseId, content: parseInput(Content, content), is_error: isError };
      const problem = answerProblem(data.content);
      if (problem !== undefined) throw new KnownError("invalid", problem);
      return answerAwait({ store, tenant, now, ids, ...(key && { key }) }, sessionId, { ...data, updatedInput });
    },
    ...createDriverRequests({ store, tenant, now, ids, get, state }),
    edit,
    async fork(sessionId, options, key) {
      const { id, facts } = await forked(sessionId, options);
      const { events } = await store.append(id, facts.map(event), { expect: 0, ...(key && { key }) });
      return get(events[0]?.session_id ?? id);
    },
    async beginFork(sessionId, input, options, key) {
      const { id, facts } = await forked(sessionId, options);
      return appendFirst({ store, now, reserve, tenant }, { id, events: [...facts, accepted(input)].map(event), key });
    },
    async import(log, key) {
      const id = ids();
      const { events } = await store.append(id, importedLog(log, { tenant, ids }), { expect: 0, ...(key && { key }) });
      return get(events[0]?.session_id ?? id);
    },
    async delete(sessionId) {
      const session = await get(sessionId);
      // Files are removed before and after the session. If the file store is unavailable, the first removal fails, and
      // the session stays and can be deleted later. The second removal is for files that a run made after the first
      // removal.
      await forget?.({ tenant, sessionId });
      await answerForDeleted(store, session, now());
      await store.delete(sessionId, { tenant });
      await forgetParked(store, { tenant, sessionId });
      await forget?.({ tenant, sessionId });
    },
    get,
    list: (query = {}) => store.list({ ...query, tenant }),
    count: (filter = {}) => store.count({ ...filter, tenant }),
    usage: (query) => store.usage({ ...query, tenant }),
    toolUsage: (query) => store.toolUsage({ ...query, tenant }),
    search: (query) => searchSessions(store, { ...query, tenant }),
    messages: (sessionId, options = {}) => store.messages(sessionId, { ...options, tenant }),
    transcript: async (sessionId) => (await state(sessionId)).transcript,
    runs: (sessionId, options = {}) => store.runs(sessionId, { ...options, tenant }),
    events: (sessionId, options = {}) => store.read(sessionId, { ...options, tenant }),
    follow: (sessionId, options, signal) => store.follow(sessionId, { ...options, tenant }, signal),
    state,
  };
}

/** A prompt for the session `id`. `key` is the idempotency key. */
interface PromptAppend {
  readonly id: string;
  readonly events: readonly NewEvent[];
  readonly key: Key | undefined;
}

type AppendDeps = Pick<SessionsDeps, "store" | "reserve"> & { readonly now: () => number; readonly tenant: string };

/**
 * Stores the first events of a session with a prompt. If this process has a free place, the same append takes the lease
 * and begins the first step.
 */
async function appendFirst(deps: AppendDeps, prompt: PromptAppend): Promise<Accepted> {
  const { store, now } = deps;
  const { id, events, key } = prompt;
  const begun = await appendPrompt(deps, prompt);
  return acceptedOf(begun ?? (await store.append(id, events, { expect: 0, dueAt: now(), ...(key && { key }) })));
}

/**
 * Stores a prompt together with the lease and the first step of its run. If this process has no free place, or cannot
 * take the lease, stores nothing and returns undefined.
 */
async function appendPrompt(
  { store, now, reserve, tenant }: AppendDeps,
  { id, events: first, key }: PromptAppend,
): Promise<Appended | undefined> {
  const place = reserve?.(id, tenant);
  if (!place) return undefined;
  let taken: Taken | null = null;
  try {
    const opening = await place.opening(first);
    if (!opening) return undefined;
    const { expect, events: added } = opening;
    const options = { expect, dueAt: now(), claim: place.claim, ...(expect > 0 && { tenant }), ...(key && { key }) };
    const appended = await store.append(id, [...first, ...added], options);
    const { fence, events } = appended;
    if (fence !== undefined) taken = { fence, lastSequence: events.at(-1)?.sequence ?? 0 };
    return appended;
  } catch (error) {
    // The session has changed, another worker has its lease, or the run cannot begin. The prompt is then appended
    // without a lease, and any worker may start its run.
    const isRefused = isKnownError(error, "conflict") || !isKnownError(error);
    if (first[0]?.event_type !== "session.created" && isRefused) return undefined;
    throw error;
  } finally {
    place.settle(taken);
  }
}
