import { type SessionState, derivedId, emptyState, fold, statusOf } from "@skein/core";
import { type Await, type Event, type FactData, type JsonObject, KnownError, isKnownError } from "@skein/protocol";
import type { Host } from "./host.ts";

/** A run that somebody watches. */
export interface Watched {
  readonly host: Host;
  readonly sessionId: string;
  /** The run that the prompt opens, unless it steers another one. */
  readonly runId: string;
  /** The message of the prompt: whichever run reads it is the one to watch. */
  readonly messageId?: string | undefined;
  /** A run before it that waits for somebody is then what was waited for: nothing moves until somebody answers. */
  readonly stopsBehind?: boolean;
  /** Where in the log to begin looking: before the prompt of the run. */
  readonly after: number;
  /** Events up to here are looked at and not shown. */
  readonly shownAfter?: number;
  /** Told about each event that is shown. */
  readonly onEvent?: ((event: Event) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What was seen of a run. */
export interface Seen {
  readonly runId: string;
  /** The fold of what was seen, which is not the whole log. */
  readonly state: SessionState;
  /** What it waits for somebody to do, if that is why it stopped. */
  readonly awaiting: readonly Await[];
  /** It was cancelled before it began. */
  readonly neverStarted: boolean;
}

/**
 * The events of a session until nothing more comes of a run for now: it is over, or it waits for somebody.
 *
 * A signal that aborts cancels the run; `stop` only ends the watching.
 */
export async function* followRun(
  watched: Watched,
  stop: AbortController = new AbortController(),
): AsyncGenerator<Event, Seen> {
  const { host, sessionId, after, signal } = watched;
  const progress = createProgress(watched);
  const family = new Set<string>();
  let awaiting: readonly Await[] = [];
  const waitsForSomebody = async (): Promise<boolean> => {
    if (!progress.waits()) return false;
    const open = await openAwaits(host, sessionId, family);
    // The log may be further than what was read of it: then what was read is not what the run waits for now.
    if (!open || !progress.isAt(open.own)) return false;
    // Whatever nobody answered in its time is about to go on by itself.
    if (open.forSomebody.some(isLate)) return false;
    if (open.forSomebody.length === 0) return false;
    // Only what was found: another look that is under way may find nothing any more, and must not take this back.
    awaiting = open.forSomebody;
    return true;
  };
  // A subagent that waits for somebody says so in its own log, not in the one that is followed here.
  const stopListening = host.store.onNews((id, events) => {
    if (id === sessionId || !family.has(id) || (events && !events.some(mayPause))) return;
    void waitsForSomebody().then((waits) => waits && stop.abort(), ignore);
  });
  const cancel = (): void =>
    void host.sessions.cancel(sessionId, { runId: progress.runId(), reason: "The caller aborted." }).catch(ignore);
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  const leave = (): void => stop.abort();
  host.stopped.addEventListener("abort", leave, { once: true });
  let over = false;
  try {
    for await (const event of host.sessions.follow(sessionId, { after }, stop.signal)) {
      if (progress.lacks(event)) for (const prompt of await acceptedBefore(watched, event)) progress.add(prompt);
      progress.add(event);
      yield event;
      over = progress.isOver(event) || (mayPause(event) && (await waitsForSomebody()));
      if (over) break;
    }
    if (!over && (host.stopped.aborted || !stop.signal.aborted)) throw await brokenOff(watched);
    if (progress.wasCancelled()) await childrenStopped(host, sessionId, Date.now() + STOPPED_WITHIN_MS);
  } finally {
    stop.abort("over");
    stopListening();
    host.stopped.removeEventListener("abort", leave);
    signal?.removeEventListener("abort", cancel);
  }
  const waiting = awaiting.length > 0 ? progress.state.run?.runId : undefined;
  const neverStarted = waiting === undefined && !progress.hasStarted();
  return { runId: waiting ?? progress.runId(), state: progress.state, awaiting, neverStarted };
}

/** How long whoever waits for a cancelled run also waits for its subagents. */
const STOPPED_WITHIN_MS = 3000;

/** Whoever hears that a run was cancelled may close the process next: then nobody would tell its subagents' subagents. */
async function childrenStopped(host: Host, sessionId: string, deadline: number): Promise<void> {
  const { items } = await host.sessions.list({ subagentOfSessionId: sessionId, limit: 100 });
  for (const { id } of items) {
    while (Date.now() < deadline && (await host.sessions.get(id)).status !== "idle")
      await new Promise((resolve) => setTimeout(resolve, 10));
    if (Date.now() < deadline) await childrenStopped(host, id, deadline);
  }
}

/** The prompt that a message was accepted with, in the part of the log that was not read. */
async function acceptedBefore({ host, sessionId, after }: Watched, { data }: Event): Promise<readonly Event[]> {
  const { message_id } = data as FactData<"message.created">;
  const earlier = await host.sessions.events(sessionId, { limit: after });
  return earlier.filter((event) => event.event_type === "prompt.accepted" && event.data.message_id === message_id);
}

/** Why a log ended before the run that was watched in it. */
async function brokenOff({ host, sessionId }: Watched): Promise<KnownError> {
  const problem: unknown = await host.sessions.get(sessionId).catch((error: unknown) => error);
  if (isKnownError(problem, "not_found"))
    return new KnownError("not_found", `Session ${sessionId} was deleted while its run was under way.`);
  const message = `The agent was closed while a run was under way. It is not lost: resume("${sessionId}") goes on with it.`;
  return new KnownError("closed", message, { details: { session_id: sessionId } });
}

/** Folds what belongs to one run. The log before its prompt was not read, so facts of other runs would make no sense. */
function createProgress(watched: Watched) {
  const state = emptyState(watched.sessionId);
  let { runId } = watched;
  let started = false;
  let asksSubagents = false;
  let cancelled = false;

  function isForeign({ event_type, data }: Event): boolean {
    const of = (data as JsonObject)["run_id"];
    return of !== undefined && of !== runId && event_type !== "prompt.accepted" && event_type !== "cancel.requested";
  }

  return {
    state,
    runId: () => runId,
    hasStarted: () => started,
    /** A prompt that waited before the one that is watched, and is read by the same run. */
    lacks: (event: Event): boolean =>
      event.event_type === "message.created" &&
      event.data.transformation_type === "user_message_added" &&
      event.data.run_id === runId &&
      !Object.hasOwn(state.pending, event.data.message_id),
    add(event: Event): void {
      // A prompt that steers belongs to the run that reads it.
      if (event.event_type === "message.created" && event.data.message_id === watched.messageId)
        runId = event.data.run_id;
      if (watched.after > 0 && isForeign(event)) return;
      fold(state, [{ ...event, sequence: state.sequence + 1 }]);
      started ||= state.run?.runId === runId;
      asksSubagents ||=
        event.event_type === "await.opened" && event.data.awaits.some(({ kind }) => kind === "subagent");
      cancelled ||= event.event_type === "session.failed" && event.data.outcome === "cancelled";
    },
    /** It was cancelled, and may have left subagents that are only being told so. */
    wasCancelled: () => cancelled && asksSubagents,
    isOver(event: Event): boolean {
      if (event.event_type === "session.completed" || event.event_type === "session.failed")
        return event.data.run_id === runId;
      // A run that was cancelled in the queue never starts, and so never ends.
      return event.event_type === "cancel.requested" && event.data.run_id === runId && !started;
    },
    waits: () => (watched.stopsBehind || state.run?.runId === runId) && isPaused(state),
    isAt(open: readonly Await[]): boolean {
      const waiting = state.run?.calls.filter(({ phase, answer }) => phase === "waiting" && !answer) ?? [];
      return (
        waiting.length === open.length &&
        waiting.every((call) =>
          open.some(({ tool_use_id, kind }) => tool_use_id === call.toolUseId && kind === call.awaiting),
        )
      );
    },
  };
}

function isLate({ expires_at }: Await): boolean {
  return expires_at !== null && Date.parse(expires_at) <= Date.now();
}

/** Facts after which a session may have nothing left to do but wait. */
function mayPause({ event_type }: Event): boolean {
  return event_type === "await.opened" || event_type === "await.resolved" || event_type === "tool.completed";
}

/**
 * What a session waits for now: its own awaits, and of them and its subagents' those that need somebody.
 *
 * Nothing while it can go on by itself. Sessions that it looks into are added to `family`.
 */
export async function openAwaits(
  host: Host,
  sessionId: string,
  family: Set<string> = new Set(),
): Promise<{ readonly own: readonly Await[]; readonly forSomebody: readonly Await[] } | undefined> {
  family.add(sessionId);
  const state = await stateOf(host, sessionId);
  if (!state || !isPaused(state)) return undefined;
  const waiting = new Set(
    state.run?.calls.flatMap(({ phase, answer, toolUseId }) => (phase === "waiting" && !answer ? [toolUseId] : [])),
  );
  const own = (await host.store.awaits(sessionId)).filter(({ tool_use_id }) => waiting.has(tool_use_id));
  const forSomebody: Await[] = [];
  for (const wait of own) {
    if (wait.kind !== "subagent") forSomebody.push(wait);
    else {
      const child = await openAwaits(host, derivedId("subagent", sessionId, wait.tool_use_id), family);
      forSomebody.push(...(child?.forSomebody ?? []));
    }
  }
  return { own, forSomebody };
}

/** Whether a session can do nothing but wait. A cancel that is on its way, or a prompt that interrupts, will end that. */
function isPaused(state: SessionState): boolean {
  if (state.run?.cancelRequested || state.queue.some(({ mode }) => mode === "interrupt")) return false;
  return statusOf(state) === "awaiting";
}

async function stateOf(host: Host, sessionId: string): Promise<SessionState | undefined> {
  try {
    return await host.sessions.state(sessionId);
  } catch (error) {
    if (isKnownError(error, "not_found")) return undefined;
    throw error;
  }
}

function ignore(): void {}
