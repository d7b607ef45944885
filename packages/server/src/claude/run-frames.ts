import type { Live, LiveFrame, Sessions } from "@skein/core";
import { type Content, type StreamEvent, createFraming, partialFrame } from "@skein/protocol";
import type { AskedRun } from "./asked-run.ts";

/** Where frames go: an SSE connection, a WebSocket, or a list. */
export interface RunSink {
  readonly signal: AbortSignal;
  /** False once nobody takes any more. */
  frame(frame: StreamEvent): boolean | Promise<boolean>;
  /** May be lost: the message that follows says it all. */
  partial(frame: StreamEvent): void;
}

export interface RunFrames {
  readonly sessions: Sessions;
  readonly live: Live;
  readonly run: AskedRun;
}

/**
 * Sends the frames of a run: what is stored, then what comes, until the run is over. Answers whether its end was sent.
 *
 * The run is framed from its beginning, because its result needs that; what the reader has is left out.
 */
export async function sendRun({ sessions, live, run }: RunFrames, sink: RunSink): Promise<boolean> {
  const { sessionId, runId, from, after, partials } = run;
  const { sequence, ...context } = await contextOf(sessions, run);
  const framing = createFraming(context);
  let started = false;
  let generated: string | undefined;
  let results: string | null = null;
  let step = 1;
  let early: LiveFrame[] = [];
  let stopListening: (() => void) | undefined;
  const show = (piece: LiveFrame): void => {
    if (piece.message_id === generated) return;
    // What comes before it is being written down, and is sent first.
    if (piece.step > step) return void early.push(piece);
    const frame = partialFrame(piece.event, piece.message_id);
    if (frame) sink.partial(frame);
  };
  const listen = (): void => {
    // Also for a reader that wants no partials: it is shown on the bus that somebody follows the session.
    stopListening ??= live.subscribe(sessionId, (piece) => partials && piece.run_id === runId && show(piece));
  };
  const goOn = (next: number): void => {
    step = next;
    const waiting = early;
    early = [];
    for (const piece of waiting) show(piece);
  };
  try {
    if (from >= sequence) listen();
    for await (const event of sessions.follow(sessionId, { after: from }, sink.signal)) {
      const { run_id } = event.data as { run_id?: unknown };
      if (typeof run_id === "string" && run_id !== runId) {
        // A prompt that steers is read by this run: its words are needed when it is.
        if (event.event_type === "prompt.accepted") framing(event);
        continue;
      }
      if (event.event_type === "session.started") started = true;
      if (event.event_type === "step.generated") {
        generated = event.data.message_id;
        results = event.data.results_message_id;
      }
      const frames = framing(event);
      if (event.sequence > after) for (const frame of frames) if (!(await sink.frame(frame))) return false;
      if (event.event_type === "session.completed" || event.event_type === "session.failed") return true;
      if (event.event_type === "message.created" && event.data.message_id === (results ?? generated))
        goOn(event.data.step + 1);
      // Pieces of what is being made come after what is there.
      if (event.sequence >= sequence) listen();
      // A run that was cancelled while it waited its turn never begins.
      if (event.event_type === "cancel.requested" && !started)
        return await sink.frame({ event: "done", data: { reason: "interrupted" } });
    }
  } finally {
    stopListening?.();
  }
  if (sink.signal.aborted) return false;
  const data = { code: "SESSION_NOT_FOUND", message: `Session ${sessionId} was deleted.` };
  return (await sink.frame({ event: "error", data })) && sink.frame({ event: "done", data: { reason: "error" } });
}

async function contextOf(sessions: Sessions, { sessionId, runId, state }: AskedRun) {
  const [{ agent, transcript, pending, queue, sequence }, session, newest] = await Promise.all([
    state ?? sessions.state(sessionId),
    sessions.get(sessionId),
    sessions.runs(sessionId, { limit: 1 }),
  ]);
  // Mostly it is the last run, or one that has not begun.
  const isQueued = queue.some(({ run_id }) => run_id === runId);
  const isLast = isQueued || newest.items[0]?.id === runId;
  const { items } = isLast ? newest : await sessions.runs(sessionId, { limit: 200 });
  const since = items.slice(0, items.findIndex(({ id }) => id === runId) + 1);
  const later = since.reduce((sum, { cost_micros }) => sum + cost_micros, 0);
  const unpriced = since.reduce((sum, { unpriced_calls }) => sum + unpriced_calls, 0);
  const contents = new Map<string, Content>([
    ...transcript.map(({ id, content }): [string, Content] => [id, content]),
    ...Object.entries(pending).map(([id, { content }]): [string, Content] => [id, content]),
    ...queue.map(({ message_id, content }): [string, Content] => [message_id, content]),
  ]);
  return {
    sequence,
    sessionId,
    model: session.model,
    tools: agent?.tool_schemas.map(({ name }) => name) ?? [],
    announces: agent?.runtime === "claude-code",
    contents,
    costBefore: session.unpriced_calls > unpriced ? null : session.cost_micros - later,
  };
}
