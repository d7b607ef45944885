import type { Event } from "@skein/protocol";
import type { Live, LiveFrame } from "./live.ts";
import { createLiveOrder } from "./live-order.ts";

export interface FollowLive {
  readonly live: Live;
  readonly sessionId: string;
  /**
   * The facts of the session. A reader that begins in the middle calls `joined` when it has caught up, with the run that is
   * under way there: the log has told of its step before the reader came.
   */
  readonly facts: (joined: (runId: string | null) => void) => AsyncIterable<Event>;
  /** Which frames are wanted; all of them unless told. */
  readonly isWanted?: (frame: LiveFrame) => boolean;
}

/** Who is told. */
interface LiveReader {
  /** False, or a promise of it, if there need be no more. The next fact is read when this one was taken. */
  fact(event: Event): boolean | Promise<boolean>;
  /** Frames of one attempt, as many as there are at once. */
  frames(frames: readonly LiveFrame[]): void;
}

/** Tells a session as it happens: the facts of its log, and in between what its steps say while they are made. */
export async function followLive(
  { live, sessionId, facts, isWanted = () => true }: FollowLive,
  reader: LiveReader,
): Promise<void> {
  const order = createLiveOrder();
  let isTelling = false;
  const showDue = (): void => {
    if (isTelling) return;
    for (let due = order.due(); due.length > 0; due = order.due()) reader.frames(due);
  };
  const joined = (runId: string | null): void => {
    order.joined(runId);
    showDue();
  };
  const unsubscribe = live.subscribe(sessionId, (frame) => {
    if (!isWanted(frame)) return;
    order.frame(frame);
    showDue();
  });
  try {
    for await (const event of facts(joined)) {
      isTelling = true;
      const wantsMore = reader.fact(event);
      if (wantsMore !== true && !(await wantsMore)) return;
      isTelling = false;
      order.fact(event);
      showDue();
    }
  } finally {
    unsubscribe();
  }
}
