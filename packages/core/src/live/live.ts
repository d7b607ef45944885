import type { Draft, DraftPiece, ModelStreamEvent } from "@skein/protocol";

/** Carries what is not a fact: the text of a step while it is made. One process, or several through a bus. */
export interface Live {
  publish(piece: DraftPiece): void;
  /** Calls back for each piece of a session; a listener that joins in the middle first gets what there is so far. */
  subscribe(sessionId: string, listener: (piece: DraftPiece) => void): () => void;
  /** The attempt is over: what there was of it is forgotten. */
  clear(sessionId: string): void;
}

export function createMemoryLive(): Live {
  const listeners = new Map<string, Set<(piece: DraftPiece) => void>>();
  const current = new Map<string, DraftPiece[]>();

  return {
    publish(piece) {
      const pieces = current.get(piece.session_id);
      if (pieces && sameAttempt(pieces[0], piece)) pieces.push(piece);
      else current.set(piece.session_id, [piece]);
      for (const listener of listeners.get(piece.session_id) ?? []) listener(piece);
    },
    subscribe(sessionId, listener) {
      const set = listeners.get(sessionId) ?? new Set();
      listeners.set(sessionId, set.add(listener));
      for (const piece of current.get(sessionId) ?? []) listener(piece);
      return () => {
        set.delete(listener);
        if (set.size === 0) listeners.delete(sessionId);
      };
    },
    clear: (sessionId) => void current.delete(sessionId),
  };
}

export function sameAttempt(a: DraftPiece | undefined, b: DraftPiece): boolean {
  return a?.run_id === b.run_id && a.step === b.step && a.attempt === b.attempt && a.message_id === b.message_id;
}

/** The platform API's draft of a piece: the text it adds, if it adds any. */
export function draftOf(piece: DraftPiece): Draft | undefined {
  const delta = textDelta(piece.event);
  if (delta === undefined) return undefined;
  const { session_id, run_id, step, attempt, message_id, offset } = piece;
  return { event_type: "step.generating", data: { session_id, run_id, step, attempt, message_id, offset, delta } };
}

export function textDelta(event: ModelStreamEvent): string | undefined {
  const delta = event["delta"] as { type?: string; text?: string } | undefined;
  return event.type === "content_block_delta" && delta?.type === "text_delta" ? delta.text : undefined;
}
