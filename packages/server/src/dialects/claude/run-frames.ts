import { type Live, type Page, type Sessions, type Store, isOfRun, watchRun } from "@skein/core";
import {
  type Content,
  createFraming,
  type DraftPiece,
  type FramingContext,
  isKnownError,
  partialFrame,
  type Run,
  type StreamEvent,
} from "@skein/protocol";
import type { AskedRun } from "./requested-run.ts";

/** Receives frames: an SSE connection, a WebSocket or a list. */
export interface RunSink {
  readonly signal: AbortSignal;
  /** Sends a frame. Returns false if the receiver has disconnected. */
  frame(frame: StreamEvent): boolean | Promise<boolean>;
  /** Sends a partial message. The sink may drop it, because the next message has the whole text. */
  partial(frame: StreamEvent): void;
}

export interface RunFrames {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly live: Live;
  readonly run: AskedRun;
}

/**
 * Sends the frames of stored events and then of new events, until the run is over. Returns whether the end of the run
 * was sent. Frames are made from the beginning of the run, because the result needs them. Frames that the reader
 * already has are not sent.
 */
export async function sendRun(frames: RunFrames, given: RunSink): Promise<boolean> {
  const sink = beginsWithInit(given, frames.run);
  const isOver = await sendLog(frames, sink).catch((error: unknown) => {
    // The session was deleted before its log was first read.
    if (isKnownError(error, "not_found")) return undefined;
    throw error;
  });
  if (isOver !== undefined || sink.signal.aborted) return isOver ?? false;
  const data = { code: "SESSION_NOT_FOUND", message: `Session ${frames.run.sessionId} was deleted.` };
  return (await sink.frame({ event: "error", data })) && sink.frame({ event: "done", data: { reason: "error" } });
}

type InitFrame = Extract<StreamEvent, { event: "init" }>;

/** Makes an `init` frame for a session whose runtime has not sent `init`. */
function plainInit({ sessionId, model, tools }: Pick<FramingContext, "sessionId" | "model" | "tools">): InitFrame {
  const data = { session_id: sessionId, model, tools: [...tools], mcp_servers: [], plugins: [], commands: [] };
  return { event: "init", data };
}

/** Sends `init` first to a new reader. If the run has not sent `init` yet, the reader gets a plain `init`. */
function beginsWithInit(sink: RunSink, { sessionId, isTakenUp = false }: AskedRun): BeginningSink {
  let hasBegun = isTakenUp;
  let before = plainInit({ sessionId, model: "", tools: [] });
  return {
    signal: sink.signal,
    partial: (frame) => sink.partial(frame),
    async frame(frame) {
      // A process that starts during the run sends `init` again, but a stream may have `init` only once.
      if (hasBegun && frame.event === "init") return true;
      if (!hasBegun && frame.event !== "init" && !(await sink.frame(before))) return false;
      hasBegun = true;
      return sink.frame(frame);
    },
    skipped(frame) {
      if (frame.event === "init") before = { event: "init", data: frame.data };
    },
  };
}

interface BeginningSink extends RunSink {
  /** Takes note of a frame that the reader already has. */
  skipped(frame: StreamEvent): void;
}

/** Sends the log of a run. Returns undefined if the log ends before the run, or if the reading was stopped. */
async function sendLog({ store, sessions, live, run }: RunFrames, sink: BeginningSink): Promise<boolean | undefined> {
  const { sessionId, runId, from, after, partials } = run;
  const context = await contextOf(sessions, run);
  const framing = createFraming(context);
  sink.skipped(plainInit(context));
  const watch = watchRun({ store, sessions }, { sessionId, runId, after: from, stopsAtWait: "never" });
  const isWanted = ({ run_id }: DraftPiece): boolean => partials && run_id === runId;
  for await (const item of watch.items({ live, isWanted }, sink.signal)) {
    if (!("event_type" in item)) sendPartial(item, sink);
    else if (isOfRun(item, runId)) {
      for (const frame of framing(item))
        if (item.sequence <= after) sink.skipped(frame);
        else if (!(await sink.frame(frame))) return false;
    }
    // If the run later reads this steering prompt, `framing` needs the prompt's text.
    else if (item.event_type === "prompt.accepted") framing(item);
  }
  const { ending } = watch.seen();
  if (ending === "log-ended" || ending === "stopped") return undefined;
  return ending === "never-started" ? sink.frame({ event: "done", data: { reason: "interrupted" } }) : true;
}

function sendPartial({ event, message_id }: DraftPiece, sink: RunSink): void {
  const frame = partialFrame(event, message_id);
  if (frame) sink.partial(frame);
}

/** Returns the runs of the session back to this run, newest first. Returns none if this run never began. */
async function runsSince(
  sessions: Sessions,
  { sessionId, runId, newest }: Pick<AskedRun, "sessionId" | "runId"> & { readonly newest: Page<Run> },
): Promise<readonly Run[]> {
  const later: Run[] = [];
  for (let page = newest; ; page = await sessions.runs(sessionId, { limit: 200, cursor: page.cursor })) {
    const at = page.items.findIndex(({ id }) => id === runId);
    if (at !== -1) return [...later, ...page.items.slice(0, at + 1)];
    if (page.cursor === null) return [];
    later.push(...page.items);
  }
}

async function contextOf(sessions: Sessions, { sessionId, runId, state }: AskedRun): Promise<FramingContext> {
  const [{ agent, transcript, pending, queue }, session, newest] = await Promise.all([
    state ?? sessions.state(sessionId),
    sessions.get(sessionId),
    sessions.runs(sessionId, { limit: 1 }),
  ]);
  // Reading one run is usually enough, because the wanted run is the last run or has not begun.
  const isQueued = queue.some(({ run_id }) => run_id === runId);
  const since = isQueued ? [] : await runsSince(sessions, { sessionId, runId, newest });
  const later = since.reduce((sum, { cost_picos }) => sum + BigInt(cost_picos), 0n);
  const unpriced = since.reduce((sum, { unpriced_calls }) => sum + unpriced_calls, 0);
  const contents = new Map<string, Content>([
    ...transcript.map(({ id, content }): [string, Content] => [id, content]),
    ...Object.entries(pending).map(([id, { content }]): [string, Content] => [id, content]),
    ...queue.map(({ message_id, content }): [string, Content] => [message_id, content]),
  ]);
  return {
    sessionId,
    model: session.model,
    tools: agent?.tool_schemas.map(({ name }) => name) ?? [],
    announces: agent?.runtime === "claude-code",
    contents,
    costBefore: session.unpriced_calls > unpriced ? null : BigInt(session.cost_picos) - later,
  };
}
