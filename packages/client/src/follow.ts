import type { ApiSession, Draft, Event } from "@skein/protocol";
import { type ClientOptions, SkeinError, errorOf, keyHeader } from "./client.ts";
import { type SseFrame, sseFrames } from "./sse-frames.ts";

export interface ConnectionOptions {
  readonly signal?: AbortSignal;
  /**
   * Called before the client connects again. `attempt` is 1 after a connection that delivered something, and grows with
   * each attempt that delivers nothing.
   */
  readonly onReconnect?: (attempt: number) => void;
  /** Called when the server has accepted a connection, before its first event. */
  readonly onOpen?: () => void;
  /**
   * Waits before a new attempt. An application that learns otherwise that the server answers again may wait for less
   * than `ms`.
   */
  readonly pause?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /**
   * How long a connection may be silent before the client closes it and connects again. The server sends something
   * every 15 s.
   */
  readonly silenceMs?: number;
}

export interface FollowOptions extends ConnectionOptions {
  /** The sequence of the last event that the caller has. Default: 0, follow from the first event. */
  readonly after?: number;
  /** Following ends when this run has ended. Default: following continues with the next run. */
  readonly runId?: string;
}

/** What a follower receives: events in order without a gap, drafts in between, and a reset if the log was replaced. */
export type Followed =
  | { readonly type: "event"; readonly event: Event }
  | { readonly type: "draft"; readonly draft: Draft }
  | { readonly type: "reset" };

export interface FollowChangesOptions extends ConnectionOptions {
  /** A cursor from an earlier call. Default: only changes from now on. */
  readonly after?: string;
  readonly agentId?: string;
}

/** What a follower of all sessions receives. */
export type FollowedChange =
  | { readonly type: "opened"; readonly cursor: string }
  | {
      readonly type: "change";
      readonly cursor: string;
      readonly session: ApiSession;
      readonly last_sequence: number;
    }
  /** The server does not know the cursor. The caller must list the sessions again. */
  | { readonly type: "reset" };

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;
const SILENCE_MS = 45_000;

/**
 * Follows a session for as long as the caller wants, and reconnects as often as needed.
 *
 * Ends when the signal aborts, when the session is deleted, or when the run `runId` has ended. Throws errors that a
 * retry does not fix, such as a wrong key or an unknown session.
 */
export async function* followSession(
  client: ClientOptions,
  sessionId: string,
  { after = 0, runId, ...options }: FollowOptions = {},
): AsyncGenerator<Followed> {
  let last = after;
  const path = (): string => `/v1/sessions/${encodeURIComponent(sessionId)}/events?after=${last}`;
  for await (const frame of frames(client, path, options)) {
    if (frame.event === "stream.closing") {
      if ((JSON.parse(frame.data) as { reason: string }).reason === "deleted") return;
    } else if (frame.event === "stream.reset") {
      last = 0;
      yield { type: "reset" };
    } else if (frame.id === undefined) yield { type: "draft", draft: JSON.parse(frame.data) as Draft };
    else if (Number(frame.id) > last) {
      last = Number(frame.id);
      const event = JSON.parse(frame.data) as Event;
      yield { type: "event", event };
      if (runId !== undefined && endsRun(event, runId)) return;
    }
  }
}

function endsRun({ event_type, data }: Event, runId: string): boolean {
  const isEnd = event_type === "session.completed" || event_type === "session.failed";
  return isEnd && (data as { readonly run_id?: string }).run_id === runId;
}

/**
 * Follows the changes of all sessions, and reconnects as often as needed. The state of a session after its last change
 * is delivered at least once. Earlier changes may be left out.
 */
export async function* followChanges(
  client: ClientOptions,
  { after, agentId, ...options }: FollowChangesOptions = {},
): AsyncGenerator<FollowedChange> {
  let last = after;
  const path = (): string => {
    const query = { ...(last !== undefined && { after: last }), ...(agentId !== undefined && { agent_id: agentId }) };
    return `/v1/events?${new URLSearchParams(query).toString()}`;
  };
  for await (const { event, id, data } of frames(client, path, options)) {
    if (event === "stream.reset") yield { type: "reset" };
    if (id === undefined) continue;
    last = id;
    if (event === "stream.opened") yield { type: "opened", cursor: id };
    if (event === "session.changed")
      yield { type: "change", cursor: id, ...(JSON.parse(data) as { session: ApiSession; last_sequence: number }) };
  }
}

/**
 * A change of a session of a coding agent. A connection begins with `opened`. Earlier changes are not sent.
 */
export type FollowedHistory =
  | { readonly type: "opened" }
  | {
      readonly type: "change";
      readonly session_id: string;
      readonly change: "created" | "appended" | "rewritten" | "removed";
    };

/** Follows the changes of the sessions of coding agents, and reconnects as often as needed. */
export async function* followHistory(
  client: ClientOptions,
  options: ConnectionOptions = {},
): AsyncGenerator<FollowedHistory> {
  for await (const { event, data } of frames(client, () => "/v1/history/events", options)) {
    if (event === "stream.opened") yield { type: "opened" };
    if (event === "history.changed")
      yield { type: "change", ...(JSON.parse(data) as Omit<Extract<FollowedHistory, { type: "change" }>, "type">) };
  }
}

/**
 * Reads a stream, and connects again as often as needed. Before each connection, `path` returns the address at which
 * the stream continues.
 */
async function* frames(
  client: ClientOptions,
  path: () => string,
  { signal, onReconnect, onOpen, pause = wait, silenceMs = SILENCE_MS }: ConnectionOptions,
): AsyncGenerator<SseFrame> {
  let failures = 0;
  for (;;) {
    if (signal?.aborted) return;
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      for await (const frame of connection(client, { path: path(), stop, silenceMs, onOpen })) {
        failures = 0;
        yield frame;
        if (frame.event === "stream.closing") break;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof SkeinError && isFinal(error.status)) throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      stop.abort();
    }
    failures += 1;
    onReconnect?.(failures);
    await pause(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1)) * (0.5 + Math.random() / 2), signal);
  }
}

interface ConnectionWork {
  readonly path: string;
  readonly stop: AbortController;
  readonly silenceMs: number;
  readonly onOpen: (() => void) | undefined;
}

async function* connection(
  client: ClientOptions,
  { path, stop, silenceMs, onOpen }: ConnectionWork,
): AsyncGenerator<SseFrame> {
  const response = await (client.fetch ?? fetch)(`${client.url.replace(/\/$/, "")}${path}`, {
    headers: { ...keyHeader(client), accept: "text/event-stream" },
    signal: stop.signal,
  });
  if (!response.ok) throw await errorOf(response);
  if (!response.body) return;
  onOpen?.();
  yield* sseFrames(response.body.pipeThrough(silenceBreaker(stop, silenceMs)));
}

/** Aborts a connection on which nothing arrives for `silenceMs`, not even the server's comments. */
function silenceBreaker(stop: AbortController, silenceMs: number): TransformStream<Uint8Array, Uint8Array> {
  let timer = setTimeout(() => stop.abort(), silenceMs);
  stop.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return new TransformStream({
    transform(chunk, controller) {
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), silenceMs);
      controller.enqueue(chunk);
    },
    flush: () => clearTimeout(timer),
  });
}

/** Whether a retry would get an error with the same status. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    if (signal?.aborted) done();
  });
}
