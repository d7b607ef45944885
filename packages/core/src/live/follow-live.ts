import type { DraftPiece, Event } from "@skein/protocol";
import type { Live } from "./live.ts";
import { createLiveOrder } from "./live-order.ts";

export interface FollowLive {
  readonly live: Live;
  readonly sessionId: string;
  /**
   * Reads the facts of the session. If the facts begin in the middle of the log, the function calls `joined` as soon as
   * it has caught up, with the id of the run in progress. The reader then lacks the first facts of the current step.
   */
  readonly facts: (joined: (runId: string | null) => void) => AsyncIterable<Event>;
  /** Selects the pieces that the reader gets. Default: all. */
  readonly isWanted?: (piece: DraftPiece) => boolean;
}

interface LiveReader {
  /** Receives a fact. Returns whether to continue. The next fact is read after a returned promise has resolved. */
  fact(event: Event): boolean | Promise<boolean>;
  /** Receives the newest pieces of one attempt. */
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
