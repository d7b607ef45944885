import { type Live, type Sessions, draftOf } from "@skein/core";
import type { Draft, Event } from "@skein/protocol";

/** Where the frames of a session go: an SSE connection or a WebSocket. */
export interface FrameSink {
  readonly signal: AbortSignal;
  event(event: Event): boolean | Promise<boolean>;
  /** May be lost: the fact that follows says it all. */
  draft(draft: Draft): void;
  /** What the reader has is not from this log: everything follows again. */
  reset(given: string): boolean | Promise<boolean>;
}

export interface SessionStreamOptions {
  readonly sessions: Sessions;
  readonly live: Live;
  readonly sessionId: string;
  /** The last event that the reader has, as it said it. */
  readonly after: string;
}

const PAGE = 500;

/**
 * Sends the log of a session from a place on, then lives along with it. Ends when the sink does, or the session is deleted.
 *
 * First what is stored, then the draft of the step that is being made so far, then facts and drafts as they come.
 */
export async function streamSession(options: SessionStreamOptions, sink: FrameSink): Promise<void> {
  const { sessions, live, sessionId } = options;
  let cursor = await startOf(options, sink);
  let generated: string | undefined;
  const send = async (event: Event): Promise<boolean> => {
    cursor = event.sequence;
    if (event.event_type === "step.generated") generated = event.data.message_id;
    const sent = sink.event(event);
    return sent === true || sent;
  };
  for (;;) {
    const page = await sessions.events(sessionId, { after: cursor, limit: PAGE });
    for (const event of page) if (!(await send(event))) return;
    if (page.length < PAGE) break;
  }
  const stopListening = listen(live, sessionId, (draft) => {
    if (draft.data.message_id !== generated) sink.draft(draft);
  });
  try {
    for await (const event of sessions.follow(sessionId, { after: cursor }, sink.signal))
      if (!(await send(event))) return;
  } finally {
    stopListening();
  }
}

/** Where to begin: where the reader stopped, or at the start if that is no place in this log. */
async function startOf({ sessions, sessionId, after }: SessionStreamOptions, sink: FrameSink): Promise<number> {
  const place = /^\d{1,15}$/.test(after) ? Number(after) : -1;
  if (place === 0) return 0;
  if (place > 0) {
    const [known] = await sessions.events(sessionId, { after: place - 1, limit: 1 });
    if (known) return place;
  }
  await sink.reset(after.slice(0, 100));
  return 0;
}

/** Drafts as they are made. What there is when the listener joins comes as one. */
function listen(live: Live, sessionId: string, onDraft: (draft: Draft) => void): () => void {
  const soFar: Draft[] = [];
  let joined = false;
  const stop = live.subscribe(sessionId, (frame) => {
    const draft = draftOf(frame);
    if (!draft) return;
    if (joined) onDraft(draft);
    else soFar.push(draft);
  });
  joined = true;
  const [first] = soFar;
  if (first) onDraft({ ...first, data: { ...first.data, delta: soFar.map(({ data }) => data.delta).join("") } });
  return stop;
}
