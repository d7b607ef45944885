import { type Live, type Sessions, draftsOf, followLive } from "@skein/core";
import { type Draft, type Event, isKnownError, type Session } from "@skein/protocol";

/** The target of a session's frames: an SSE connection or a WebSocket. */
export interface FrameSink {
  readonly signal: AbortSignal;
  event(event: Event): boolean | Promise<boolean>;
  /**
   * Sends a draft: the unfinished text of the current step. May drop it, because the step's event has the whole text.
   */
  draft(draft: Draft): void;
  /** Tells the reader that its Last-Event-ID is not in this log, and that the log is sent from the beginning. */
  reset(given: string): boolean | Promise<boolean>;
}

export interface SessionStreamOptions {
  readonly sessions: Sessions;
  readonly live: Live;
  readonly session: Session;
  /** The reader's Last-Event-ID, unparsed. */
  readonly after: string;
}

/**
 * Sends the log of a session after the reader's last event, or from the start. Then sends new events. Ends when the
 * sink ends or the session is deleted.
 *
 * Order: stored events, then the draft of the current step so far, then events and drafts as they come.
 */
export async function streamSession(options: SessionStreamOptions, sink: FrameSink): Promise<void> {
  try {
    await send(options, sink);
  } catch (error) {
    // The session was deleted before its log was first read.
    if (!isKnownError(error, "not_found")) throw error;
  }
}

async function send(options: SessionStreamOptions, sink: FrameSink): Promise<void> {
  const { sessions, live, session } = options;
  const after = await startOf(options, sink);
  await followLive(
    {
      live,
      sessionId: session.id,
      facts: (joined) => sessions.follow(session.id, { after, onCaughtUp: () => joined(session.run_id) }, sink.signal),
    },
    { fact: sink.event, pieces: (pieces) => draftsOf(pieces).forEach(sink.draft) },
  );
}

/**
 * Returns where the stream begins: after the reader's last event, or at the start if the log does not have this event.
 */
async function startOf({ sessions, session, after }: SessionStreamOptions, sink: FrameSink): Promise<number> {
  const place = /^\d{1,15}$/.test(after) ? Number(after) : -1;
  // Sequence 0 is the start, and every session has event 1, so no read is needed.
  if (place === 0 || place === 1) return place;
  if (place > 0) {
    const [known] = await sessions.events(session.id, { after: place - 1, limit: 1 });
    if (known) return place;
  }
  await sink.reset(after.slice(0, 100));
  return 0;
}
