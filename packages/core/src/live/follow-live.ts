import type { DraftPiece, Event } from "@skein/protocol";
import type { Live } from "./live.ts";
import { createLiveOrder } from "./live-order.ts";

export interface FollowLive {
  readonly live: Live;
  readonly sessionId: string;
  /**
   * The facts of the session. A source that begins in the middle of the log calls `joined` with the id of the run in
   * progress as soon as it has caught up. The reader then lacks the facts with which the current step of this run
   * began.
   */
  readonly facts: (joined: (runId: string | null) => void) => AsyncIterable<Event>;
  /** Selects the pieces that the reader gets. Default: all. */
  readonly isWanted?: (piece: DraftPiece) => boolean;
}

/** Receives facts and pieces. */
interface LiveReader {
  /** Receives a fact. Returns whether to continue. The next fact is read after a returned promise has resolved. */
  fact(event: Event): boolean | Promise<boolean>;
  /** Receives the pieces of one attempt that have arrived since the last call. */
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
