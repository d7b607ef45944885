import type { SessionState, Sessions } from "@skein/core";
import type { Run } from "@skein/protocol";

/** A run that a client asked for, and where to begin reading its log. */
export interface AskedRun {
  readonly sessionId: string;
  readonly runId: string;
  /** The events of the run have larger sequences than this number. */
  readonly from: number;
  /** Frames of events up to this sequence are not sent to the client. */
  readonly after: number;
  readonly partials: boolean;
  /** Whether the client already has the stream up to `after`. A new reader gets `init` first. */
  readonly isTakenUp?: boolean;
  /** The session's state at the time of the request or later, if it is known. */
  readonly state?: SessionState;
}

/** Returns the run that contains the event with this sequence. Returns undefined if no run contains the event. */
export async function runAt(sessions: Sessions, sessionId: string, sequence: number): Promise<Run | undefined> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await sessions.runs(sessionId, { limit: 200, ...(cursor !== undefined && { cursor }) });
    const run = page.items.find(({ first_sequence }) => first_sequence <= sequence);
    if (run) return run.last_sequence !== null && sequence > run.last_sequence ? undefined : run;
    cursor = page.cursor;
  }
  return undefined;
}
