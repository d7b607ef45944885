import { type RunWatch, type SeenRun, type WatchedRun, watchRun } from "@skein/core";
import { type DraftPiece, type Event, isKnownError, KnownError } from "@skein/protocol";
import type { EventListeners } from "./event-listeners.ts";
import type { Host } from "./host.ts";

/** A run that is watched, with the options of the watcher. */
export interface Watched extends Omit<WatchedRun, "followsPrompt" | "stopsAtWait" | "cancelOn"> {
  readonly host: Host;
  /**
   * If true, watching also ends when an earlier run waits for an answer, because the watched run cannot begin before
   * the answer.
   */
  readonly stopsBehind?: boolean;
  /** Only events after this sequence are streamed, or given to `onEvent`. */
  readonly shownAfter?: number;
  /** Called with each event after `shownAfter`. */
  readonly onEvent?: ((event: Event) => void) | EventListeners | undefined;
  /** If this signal aborts, the run is cancelled. */
  readonly signal?: AbortSignal | undefined;
}

/** Calls the listener with the event. */
export function tell({ onEvent }: Pick<Watched, "onEvent">, event: Event): void {
  if (typeof onEvent === "function") return onEvent(event);
  const listener = onEvent?.[event.event_type] as ((event: Event) => void) | undefined;
  listener?.(event);
}

/** Yields the events of a session until the run is over or waits for an answer. */
export function followRun(watched: Watched): AsyncGenerator<Event, SeenRun> {
  const watch = watchOf(watched);
  return untilSettled(watched, watch, watch.events(watched.host.stopped));
}

/** Like `followRun`, but also yields the draft pieces of each step: the events of the model's own stream. */
export function followRunLive(watched: Watched): AsyncGenerator<Event | DraftPiece, SeenRun> {
  const watch = watchOf(watched);
  return untilSettled(watched, watch, watch.items({ live: watched.host.live }, watched.host.stopped));
}

function watchOf({ host, stopsBehind = false, signal, ...run }: Watched): RunWatch {
  const stopsAtWait = stopsBehind ? "session" : "run";
  return watchRun(host, { ...run, followsPrompt: true, stopsAtWait, cancelOn: signal });
}

async function* untilSettled<Item>(
  { host, sessionId }: Watched,
  watch: RunWatch,
  items: AsyncGenerator<Item>,
): AsyncGenerator<Item, SeenRun> {
  yield* items;
  const seen = watch.seen();
  if (seen.ending === "stopped" || seen.ending === "log-ended") throw await brokenOff(host, sessionId);
  if (seen.ending === "cancelled") await subagentsStopped(host, sessionId, Date.now() + STOPPED_WITHIN_MS);
  return seen;
}

/** After a cancelled run, a caller waits for its subagents for at most this time. */
const STOPPED_WITHIN_MS = 3000;

/** Waits until all subagents have stopped, because the caller may end the process next. */
async function subagentsStopped(host: Host, sessionId: string, deadline: number): Promise<void> {
  const { items } = await host.sessions.list({ subagentOfSessionId: sessionId, limit: 100 });
  for (const { id } of items) {
    while (Date.now() < deadline && (await host.sessions.get(id)).status !== "idle")
      await new Promise((resolve) => setTimeout(resolve, 10));
    if (Date.now() < deadline) await subagentsStopped(host, id, deadline);
  }
}

/** Returns the error if the stream of events ended before the run was over. */
async function brokenOff(host: Host, sessionId: string): Promise<KnownError> {
  const problem: unknown = await host.sessions.get(sessionId).catch((error: unknown) => error);
  if (isKnownError(problem, "not_found"))
    return new KnownError("not_found", `Session ${sessionId} was deleted during its run.`);
  const message = `The agent was closed during a run. Nothing is lost: resume("${sessionId}") continues the run.`;
  return new KnownError("closed", message, { details: { session_id: sessionId } });
}
