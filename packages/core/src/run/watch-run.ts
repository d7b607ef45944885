import type { Await, DraftPiece, Event } from "@skein/protocol";
import type { Live } from "../live/live.ts";
import { liveItems } from "../live/live-items.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Store } from "../ports/store.ts";
import { mayPause, openAwaits } from "./open-awaits.ts";

export interface WatchDeps {
  readonly store: Pick<Store, "awaits" | "onNews">;
  readonly sessions: Pick<Sessions, "follow" | "state" | "cancel">;
  readonly now?: () => number;
}

/** A run that somebody watches. */
export interface WatchedRun {
  readonly sessionId: string;
  /** The run that the prompt starts. A prompt in the mode `steer` may be read by another run instead. */
  readonly runId: string;
  /** The sequence after which the watching begins. It is before the first event of the run. */
  readonly after: number;
  /** The id of the prompt's message. Only needed if the watching begins after the prompt was accepted. */
  readonly messageId?: string | undefined;
  /** Whether to follow another run, if that run reads the prompt before this run starts. */
  readonly followsPrompt?: boolean;
  /**
   * Which wait ends the watching. `never`: no wait. `run`: a wait of this run. `session`: a wait of any run, because
   * the session cannot continue until somebody answers.
   */
  readonly stopsAtWait: "never" | "run" | "session";
  /** A signal that cancels the run when it aborts. The watching continues until the run has ended. */
  readonly cancelOn?: AbortSignal | undefined;
}

/**
 * Why the watching ended. `never-started`: the run was cancelled before it started, or another run read its prompt.
 * `waiting`: a run waits for somebody. `log-ended`: the session was deleted. `stopped`: the watcher was told to stop.
 */
type RunEnding = "completed" | "failed" | "cancelled" | "never-started" | "waiting" | "log-ended" | "stopped";

/** The results of watching a run, so far. */
export interface SeenRun {
  /** The run that was watched last: the prompt's own run, another run that read the prompt, or the run that waits. */
  readonly runId: string;
  /** Null while the watching continues, or if the reader stopped reading. */
  readonly ending: RunEnding | null;
  /** The awaits of the run that somebody must answer, including awaits of subagents. */
  readonly awaiting: readonly Await[];
}

/** Watches a run. Read it only once, with `events` or with `items`. */
export interface RunWatch {
  /** Yields the events of the session until the run ends or waits. Events of other runs are included. */
  events(signal?: AbortSignal): AsyncGenerator<Event>;
  /** Yields the events and, between them, the drafts of the steps. */
  items(options: RunItems, signal?: AbortSignal): AsyncGenerator<Event | DraftPiece>;
  seen(): SeenRun;
}

interface RunItems {
  readonly live: Live;
  /** Selects the draft pieces that the reader gets. Default: all. */
  readonly isWanted?: (piece: DraftPiece) => boolean;
}

/** Watches a run until it ends or waits for somebody. */
export function watchRun(deps: WatchDeps, watched: WatchedRun): RunWatch {
  const { sessionId, after, cancelOn } = watched;
  const progress = createProgress(watched);
  const waits = createWaits(deps, watched, progress);
  let ending: RunEnding | null = null;

  async function* events(signal?: AbortSignal): AsyncGenerator<Event> {
    const stop = new AbortController();
    const leave = (): void => stop.abort();
    const cancel = (): void => {
      const reason: unknown = cancelOn?.reason;
      void deps.sessions
        .cancel(sessionId, {
          runId: progress.runId(),
          reason: typeof reason === "string" ? reason : "The caller cancelled the run.",
        })
        .catch(ignore);
    };
    const undo = [onAbort(signal, leave), onAbort(cancelOn, cancel), waits.listen(leave)];
    try {
      for await (const event of deps.sessions.follow(sessionId, { after }, stop.signal)) {
        progress.add(event);
        yield event;
        ending = progress.endingAt(event) ?? ((await waits.after(event)) ? "waiting" : null);
        if (ending !== null) return;
      }
      if (waits.awaiting().length > 0) ending = "waiting";
      else ending = stop.signal.aborted ? "stopped" : "log-ended";
    } finally {
      for (const one of undo) one();
    }
  }

  return {
    events,
    items: (options, signal) => liveItems({ ...options, sessionId, facts: events }, signal),
    seen: () => ({
      runId: (ending === "waiting" ? waits.runId() : undefined) ?? progress.runId(),
      ending,
      awaiting: waits.awaiting(),
    }),
  };
}

/** Whether an event belongs to a run. A fact without a run belongs to every run. */
export function isOfRun({ data }: Event, runId: string): boolean {
  const { run_id } = data as { run_id?: unknown };
  return typeof run_id !== "string" || run_id === runId;
}

type Progress = ReturnType<typeof createProgress>;

/** Remembers which run is watched, how much of its log was read, and whether it may be waiting. */
function createProgress(watched: WatchedRun) {
  let { runId, messageId } = watched;
  let sequence = watched.after;
  /** The run in progress at the last event that was read. */
  let current: string | undefined;
  let hasStarted = false;
  let isReadByAnother = false;
  /** The waiting calls of the current run. */
  const open = new Set<string>();

  function endRun(): void {
    current = undefined;
    open.clear();
  }

  return {
    runId: () => runId,
    sequence: () => sequence,
    /** Returns false if no call can be waiting. The session then need not be checked. */
    mayWait: (): boolean => open.size > 0 && (watched.stopsAtWait === "session" || current === runId),
    add(event: Event): void {
      sequence = event.sequence;
      if (event.event_type === "session.started") current = event.data.run_id;
      if (event.event_type === "session.completed" || event.event_type === "session.failed") endRun();
      if (event.event_type === "prompt.accepted" && event.data.run_id === watched.runId)
        messageId = event.data.message_id;
      // A prompt in the mode `steer` belongs to the run that reads it.
      if (event.event_type === "message.created" && event.data.message_id === messageId) {
        if (watched.followsPrompt) runId = event.data.run_id;
        else isReadByAnother ||= event.data.run_id !== runId;
      }
      if (event.event_type === "await.opened") for (const { tool_use_id } of event.data.awaits) open.add(tool_use_id);
      if (event.event_type === "await.resolved" || event.event_type === "tool.completed")
        open.delete(event.data.tool_use_id);
      hasStarted ||= current === runId;
    },
    endingAt(event: Event): RunEnding | null {
      if (isReadByAnother) return "never-started";
      if (event.event_type === "session.completed" && event.data.run_id === runId) return "completed";
      if (event.event_type === "session.failed" && event.data.run_id === runId) return event.data.outcome;
      // A run that was cancelled in the queue never starts, and so never ends.
      const isCancelled = event.event_type === "cancel.requested" && event.data.run_id === runId;
      return isCancelled && !hasStarted ? "never-started" : null;
    },
  };
}

/** Finds out whether a run waits for somebody. */
function createWaits(deps: WatchDeps, { sessionId, stopsAtWait }: WatchedRun, progress: Progress) {
  const { now = Date.now } = deps;
  /** The session and the sessions of its subagents, as far as they were read. */
  const family = new Set<string>();
  let found: { readonly runId: string; readonly awaiting: readonly Await[] } | undefined;
  let isDue = false;

  async function look(): Promise<boolean> {
    if (!progress.mayWait()) return false;
    const open = await openAwaits(deps, sessionId, family);
    if (!open || (stopsAtWait === "run" && open.runId !== progress.runId())) return false;
    const { runId, sequence, forSomebody: awaiting } = open;
    // If more of the log was read during this check, the check starts again.
    if (sequence < progress.sequence()) return look();
    // If the log has more events than were read, the check is repeated after the next event.
    isDue = sequence > progress.sequence();
    if (isDue) return false;
    // A wait that has reached its time limit ends soon without an answer.
    if (awaiting.length === 0 || awaiting.some((wait) => isLate(wait, now()))) return false;
    found = { runId, awaiting };
    return true;
  }

  return {
    runId: () => found?.runId,
    awaiting: (): readonly Await[] => found?.awaiting ?? [],
    /** Returns whether the run waits after the last event that was read. */
    async after(event: Event): Promise<boolean> {
      if (stopsAtWait === "never" || !(isDue || mayPause(event))) return false;
      isDue = false;
      return look();
    },
    /**
     * Calls the listener when a subagent waits for somebody, because this wait is recorded only in the subagent's log.
     */
    listen(onWaiting: () => void): () => void {
      if (stopsAtWait === "never") return ignore;
      return deps.store.onNews((id, events) => {
        if (id === sessionId || !family.has(id) || (events && !events.some(mayPause))) return;
        void look().then((waits) => waits && onWaiting(), ignore);
      });
    },
  };
}

function isLate({ expires_at }: Await, now: number): boolean {
  return expires_at !== null && Date.parse(expires_at) <= now;
}

/** Calls back when a signal aborts, or at once if it has aborted. Returns a function that removes the listener. */
function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  signal?.addEventListener("abort", callback, { once: true });
  if (signal?.aborted) callback();
  return () => signal?.removeEventListener("abort", callback);
}

function ignore(): void {}
