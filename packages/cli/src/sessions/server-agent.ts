import { type Client, type ClientOptions, sseFrames } from "@skein/client";
import { type WatchDeps, openAwaits, watchRun } from "@skein/core";
import type { Content, Draft, Event } from "@skein/protocol";
import { MissingError, UsageError } from "../terminal/exit-codes.ts";
import { everyOf, sessionsOf } from "../terminal/find-session.ts";
import { visibleLine } from "../terminal/visible-text.ts";
import { createItems } from "./items.ts";
import { createServerSessions } from "./server-sessions.ts";
import type { Answerer, OpenedSessions } from "./session-calls.ts";

export interface ServerAgentOptions {
  readonly client: Client;
  /** The address and the key of the server, for a stream that `client` cannot request. */
  readonly reach: ClientOptions;
  /** The name or id of an agent. Default: the only agent of the server. */
  readonly agentName: string | undefined;
  /** The name of the model of a new session. */
  readonly model: string | undefined;
}

/**
 * The time between two checks whether a subagent of the run waits for an answer. The log of the subagent's session
 * shows this, not the log of the run's session.
 */
const LOOK_MS = 1000;

interface Watched {
  readonly sessionId: string;
  readonly runId: string;
  readonly after: number;
  readonly shownAfter: number;
  readonly stopsAtWait: "run" | "session";
  readonly signal?: AbortSignal | undefined;
}

/** Creates an `Answerer` that runs prompts with an agent of a server. */
export function createServerAgent({ client, reach, agentName, model }: ServerAgentOptions): Answerer {
  const sessions = createServerSessions(client);

  async function begun(prompt: Content, { sessionId, mode, maxCostMicros, model: runModel }: BeginOptions) {
    const id = sessionId ?? (await newSession(client, agentName, model));
    const model_id = runModel === undefined ? null : await modelId(client, runModel);
    const body = {
      role: "user" as const,
      content: typeof prompt === "string" ? { text: prompt } : prompt,
      max_cost_micros: maxCostMicros ?? null,
      model_id,
      ...(mode !== undefined && { mode }),
    };
    const { run_id, event_sequence } = await client.postMessage({ params: { session_id: id }, body });
    const isNew = sessionId === undefined;
    const before = event_sequence - 1;
    return {
      sessionId: id,
      runId: run_id,
      after: isNew || mode === "steer" ? 0 : before,
      shownAfter: isNew ? 0 : before,
    };
  }

  async function current(sessionId: string): Promise<{ readonly runId: string; readonly sequence: number }> {
    const { queue, sequence } = await sessions.state(sessionId);
    const [last] = (await sessions.runs(sessionId, { limit: 1 })).items;
    const runId = queue.at(-1)?.run_id ?? last?.id;
    if (runId === undefined) throw new MissingError(`Session ${sessionId} has no run to continue.`);
    return { runId, sequence };
  }

  return {
    async *stream(prompt, options) {
      const watched = await begun(prompt, options);
      const { signal, mode } = options;
      yield* items(client, sessions, { ...watched, stopsAtWait: mode === "steer" ? "session" : "run", signal });
    },
    async *follow(sessionId, { signal } = {}) {
      const { runId, sequence: shownAfter } = await current(sessionId);
      yield* items(client, sessions, { sessionId, runId, after: 0, shownAfter, stopsAtWait: "session", signal });
    },
    async *text(prompt, { format, onEvent, ...options } = {}) {
      const { sessionId, runId, shownAfter } = await begun(prompt, options);
      const { signal } = options;
      const cancel = (): void => {
        const reason = typeof signal?.reason === "string" ? { reason: signal.reason } : {};
        void sessions.cancel(sessionId, { runId, ...reason }).catch(() => undefined);
      };
      if (signal?.aborted) cancel();
      signal?.addEventListener("abort", cancel);
      try {
        const [event] = await sessions.events(sessionId, { after: shownAfter, limit: 1 });
        if (event && typeof onEvent === "function") onEvent(event);
        const query = format === undefined ? "" : `?format=${format}`;
        yield* textOf(reach, `/v1/sessions/${sessionId}/runs/${runId}/text${query}`);
      } finally {
        signal?.removeEventListener("abort", cancel);
      }
    },
    async resume(sessionId) {
      const { runId } = await current(sessionId);
      const awaiting = (await openAwaits({ store: sessions, sessions }, sessionId))?.forSomebody ?? [];
      const ended = (await sessions.events(sessionId)).findLast(
        (event) =>
          (event.event_type === "session.completed" || event.event_type === "session.failed") &&
          event.data.run_id === runId,
      );
      const isEnded = ended?.event_type === "session.completed" || ended?.event_type === "session.failed";
      return {
        runId,
        awaiting,
        stopReason: isEnded ? ended.data.stop_reason : awaiting.length > 0 ? "awaiting_frontend_tools" : "cancelled",
        error: ended?.event_type === "session.failed" ? ended.data.error : null,
      };
    },
    sessions: async () => sessions,
    close: async () => {},
  };
}

type BeginOptions = Parameters<Answerer["stream"]>[1];

/** Yields the events and drafts of a run on the server, until the run ends or waits for somebody. */
async function* items(client: Client, sessions: OpenedSessions, watched: Watched): AsyncGenerator<Event | Draft> {
  const { sessionId, runId, after, shownAfter, stopsAtWait, signal } = watched;
  const found = createItems<Event | Draft>();
  async function* follow(id: string, options: { after?: number }, stop: AbortSignal): AsyncGenerator<Event> {
    for await (const followed of client.follow(id, { ...options, signal: stop })) {
      if (followed.type === "draft") found.push(followed.draft);
      if (followed.type === "event") yield followed.event;
    }
  }
  const deps = { store: storeOf(sessions, sessionId), sessions: { ...sessions, follow } };
  const watch = watchRun(deps, { sessionId, runId, after, stopsAtWait, followsPrompt: true, cancelOn: signal });
  const left = new AbortController();
  const reading = (async () => {
    for await (const event of watch.events(left.signal)) if (event.sequence > shownAfter) found.push(event);
  })().then(found.end, found.fail);
  try {
    yield* found.items();
  } finally {
    left.abort();
    await reading;
  }
}

/**
 * Returns the store for `watchRun`. A server sends no news of subagents, so a timer checks the session's subagents, and
 * theirs. A session that does not wait has no subagent that matters, because the session continues.
 */
function storeOf(sessions: OpenedSessions, sessionId: string): WatchDeps["store"] {
  return {
    awaits: sessions.awaits,
    onNews(listener) {
      const known = new Map<string, number>();
      const look = async (callerId: string): Promise<void> => {
        const waiting = sessionsOf(sessions, { activity: "awaiting", subagentOfSessionId: callerId });
        for await (const { id, updated_at } of waiting) {
          if (known.get(id) !== Date.parse(updated_at)) listener(id, undefined);
          known.set(id, Date.parse(updated_at));
          await look(id);
        }
      };
      const timer = setInterval(() => void look(sessionId).catch(() => undefined), LOOK_MS).unref();
      return () => clearInterval(timer);
    },
  };
}

async function* textOf({ url, apiKey }: ClientOptions, path: string): AsyncGenerator<string> {
  const response = await fetch(`${url.replace(/\/$/, "")}${path}`, {
    headers: { accept: "text/event-stream", ...(apiKey !== undefined && { "x-api-key": apiKey }) },
  });
  if (!response.ok || !response.body)
    throw new MissingError(`The server answered ${response.status} to the request for the run's text.`);
  for await (const { data, event } of sseFrames(response.body)) if (event !== "stream.closing") yield data;
}

async function newSession(client: Client, name: string | undefined, model: string | undefined): Promise<string> {
  const agent_id = await agentId(client, name);
  const model_id = model === undefined ? null : await modelId(client, model);
  return (await client.createSession({ body: { agent_id, model_id } })).id;
}

/** The name of the plain agent (an agent with default settings), which a command may create on a server. */
const PLAIN = "skein";

/**
 * Returns the id of the named agent, or of the server's only agent. Creates the plain agent if it was named but is
 * missing, or if no agent was named and the server has none.
 */
async function agentId(client: Client, name: string | undefined): Promise<string> {
  const data: { readonly id: string; readonly name: string }[] = [];
  const listed = everyOf(async (next) => {
    const page = await client.listAgents({ query: { status: "active", limit: 200, ...next } });
    return { items: page.data, cursor: page.next_cursor };
  });
  for await (const agent of listed) data.push(agent);
  const found = data.filter((agent) => name === undefined || agent.name === name || agent.id === name);
  const [only, ...others] = found;
  if (only && others.length === 0) return only.id;
  const names = [...new Set((found.length > 0 ? found : data).map((agent) => visibleLine(agent.name)))].join(", ");
  if (only && name === undefined)
    throw new UsageError(`The server has several agents. Choose one with --agent-name: ${names}.`);
  if (only) return only.id;
  if (name !== undefined && name !== PLAIN)
    throw new MissingError(`The server has no agent "${name}".${names === "" ? "" : ` It has: ${names}.`}`);
  return (await client.createAgent({ body: { name: PLAIN } })).id;
}

async function modelId(client: Client, name: string): Promise<string> {
  const { data } = await client.listModels();
  const found = data.find((model) => model.name === name || model.id === name);
  if (found) return found.id;
  throw new MissingError(`The server has no model "${name}". It has: ${data.map((model) => model.name).join(", ")}.`);
}
