import type { DraftPiece, Event } from "@skein/protocol";
import type { Live } from "./live.ts";
import { createLiveOrder } from "./live-order.ts";

export interface FollowLive {
  readonly live: Live;
  readonly sessionId: string;
  /**
   * The facts of the session. A source that begins in the middle of the log calls `joined` when it has caught up, with the
   * run in progress: the facts of the run's current step are before the reader's first fact.
   */
  readonly facts: (joined: (runId: string | null) => void) => AsyncIterable<Event>;
  /** Selects pieces. Default: all of them. */
  readonly isWanted?: (piece: DraftPiece) => boolean;
}

/** Receives facts and pieces. */
interface LiveReader {
  /** Takes a fact. Returning false ends the following. The next fact is read when the result is available. */
  fact(event: Event): boolean | Promise<boolean>;
  /** Takes the pieces of one attempt that have arrived since the last call. */
  pieces(pieces: readonly DraftPiece[]): void;
}

/** Follows a session: the facts of its log, and between them the drafts of its steps. */
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
