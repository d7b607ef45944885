import type { SessionState, Sessions } from "@skein/core";
import type { Run } from "@skein/protocol";

/** A run that somebody asked for, and where it stands. */
export interface AskedRun {
  readonly sessionId: string;
  readonly runId: string;
  /** Its events come after this one. */
  readonly from: number;
  /** Frames up to this event are not for whoever asked. */
  readonly after: number;
  readonly partials: boolean;
  /** Whether the reader has the stream up to `after`; one that begins is told `init` first. */
  readonly isTakenUp?: boolean;
  /** The session just before the run was asked for, or since then, if somebody has looked. */
  readonly state?: SessionState;
}

/** The run that an event belongs to, by its place in the log; undefined if it lies between runs. */
export async function runAt(sessions: Sessions, sessionId: string, sequence: number): Promise<Run | undefined> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await sessions.runs(sessionId, { limit: 200, ...(cursor !== undefined && { cursor }) });
    const run = page.items.find(({ first_sequence }) => first_sequence <= sequence);
    if (run) return run.last_sequence !== null && sequence > run.last_sequence ? undefined : run;
    cursor = page.cursor;
  }
  return undefined;
}
