import type { DraftPiece, Event } from "@skein/protocol";
import type { Live } from "./live.ts";
import { createLiveOrder } from "./live-order.ts";

export interface FollowLive {
  readonly live: Live;
  readonly sessionId: string;
  /**
   * The facts of the session. A reader that begins in the middle calls `joined` when it has caught up, with the run that is
   * under way there: the log has told of its step before the reader came.
   */
  readonly facts: (joined: (runId: string | null) => void) => AsyncIterable<Event>;
  /** Which pieces are wanted; all of them unless told. */
  readonly isWanted?: (piece: DraftPiece) => boolean;
}

/** Who is told. */
interface LiveReader {
  /** False, or a promise of it, if there need be no more. The next fact is read when this one was taken. */
  fact(event: Event): boolean | Promise<boolean>;
  /** Pieces of one attempt, as many as there are at once. */
  pieces(pieces: readonly DraftPiece[]): void;
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
    for (let due = order.due(); due.length > 0; due = order.due()) reader.pieces(due);
  };
  const joined = (runId: string | null): void => {
    order.joined(runId);
    showDue();
  };
  const unsubscribe = live.subscribe(sessionId, (piece) => {
    if (!isWanted(piece)) return;
    order.piece(piece);
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
