import { type RunWatch, type SeenRun, type WatchedRun, watchRun } from "@skein/core";
import { type DraftPiece, type Event, isKnownError, KnownError } from "@skein/protocol";
import type { Host } from "./host.ts";

/** A run of an agent that somebody watches. */
export interface Watched extends Omit<WatchedRun, "followsPrompt" | "stopsAtWait" | "cancelOn"> {
  readonly host: Host;
  /** A run before it that waits for somebody is then what was waited for: nothing moves until somebody answers. */
  readonly stopsBehind?: boolean;
  /** Events up to here are looked at and not shown. */
  readonly shownAfter?: number;
  /** Told about each event that is shown. */
  readonly onEvent?: ((event: Event) => void) | undefined;
  /** Cancels the run when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** The events of a session until nothing more comes of a run for now: it is over, or it waits for somebody. */
export function followRun(watched: Watched): AsyncGenerator<Event, SeenRun> {
  const watch = watchOf(watched);
  return untilSettled(watched, watch, watch.events(watched.host.stopped));
}

/** The same, and in between what the steps say while they are made. */
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

/** How long whoever waits for a cancelled run also waits for its subagents. */
const STOPPED_WITHIN_MS = 3000;

/** Whoever hears that a run was cancelled may close the process next: then nobody would tell its subagents' subagents. */
async function subagentsStopped(host: Host, sessionId: string, deadline: number): Promise<void> {
  const { items } = await host.sessions.list({ subagentOfSessionId: sessionId, limit: 100 });
  for (const { id } of items) {
    while (Date.now() < deadline && (await host.sessions.get(id)).status !== "idle")
      await new Promise((resolve) => setTimeout(resolve, 10));
    if (Date.now() < deadline) await subagentsStopped(host, id, deadline);
  }
}

/** Why a log ended before the run that was watched in it. */
async function brokenOff(host: Host, sessionId: string): Promise<KnownError> {
  const problem: unknown = await host.sessions.get(sessionId).catch((error: unknown) => error);
  if (isKnownError(problem, "not_found"))
    return new KnownError("not_found", `Session ${sessionId} was deleted while its run was under way.`);
  const message = `The agent was closed while a run was under way. It is not lost: resume("${sessionId}") goes on with it.`;
  return new KnownError("closed", message, { details: { session_id: sessionId } });
}
