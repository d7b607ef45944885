import { type Live, type Sessions, draftsOf, followLive } from "@skein/core";
import { type Draft, type Event, isKnownError, type Session } from "@skein/protocol";

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
  readonly session: Session;
  /** The last event that the reader has, as it said it. */
  readonly after: string;
}

/**
 * Sends the log of a session from a place on, then lives along with it. Ends when the sink does, or the session is deleted.
 *
 * First what is stored, then the draft of the step that is being made so far, then facts and drafts as they come.
 */
export async function streamSession(options: SessionStreamOptions, sink: FrameSink): Promise<void> {
  try {
    await send(options, sink);
  } catch (error) {
    // It was deleted before the first look at its log.
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

/** Where to begin: where the reader stopped, or at the start if that is no place in this log. */
async function startOf({ sessions, session, after }: SessionStreamOptions, sink: FrameSink): Promise<number> {
  const place = /^\d{1,15}$/.test(after) ? Number(after) : -1;
  if (place === 0) return 0;
  if (place > 0) {
    const [known] = await sessions.events(session.id, { after: place - 1, limit: 1 });
    if (known) return place;
  }
  await sink.reset(after.slice(0, 100));
  return 0;
}
