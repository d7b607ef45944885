import type { Draft, DraftPiece, ModelStreamEvent } from "@skein/protocol";

/**
 * Carries drafts (the text of a step while the model writes it) within a process, or between processes through a bus.
 */
export interface Live {
  publish(piece: DraftPiece): void;
  /** Calls the listener for each piece of a session. A late listener first gets the earlier pieces of the attempt. */
  subscribe(sessionId: string, listener: (piece: DraftPiece) => void): () => void;
  /** Forgets the pieces of an attempt that has ended. */
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

/**
 * Counts the characters of one attempt. For each event, returns how many characters of its kind (text or thinking) came
 * before the event.
 */
export function createOffsets(): (event: ModelStreamEvent) => number {
  const counted = { text: 0, thinking: 0 };
  return (event) => {
    const { kind, delta } = contentDelta(event) ?? { kind: "text", delta: "" };
    const offset = counted[kind];
    counted[kind] += delta.length;
    return offset;
  };
}

/**
 * Returns the platform API's drafts for pieces of one attempt. Joins consecutive pieces of one kind. A text becomes two
 * drafts, because the platform API shows it in the step and in the message.
 */
export function draftsOf(pieces: readonly DraftPiece[]): readonly Draft[] {
  return joinedDeltas(pieces).flatMap(({ kind, data }) => {
    const update: Draft = { event_type: "message.delta", data: { ...data, kind } };
    return kind === "text" ? [{ event_type: "step.generating", data }, update] : [update];
  });
}

type Kind = Extract<Draft, { event_type: "message.delta" }>["data"]["kind"];

function joinedDeltas(pieces: readonly DraftPiece[]) {
  const joined: { readonly kind: Kind; readonly data: Extract<Draft, { event_type: "step.generating" }>["data"] }[] =
    [];
  for (const { session_id, run_id, step, attempt, message_id, offset, event } of pieces) {
    const added = contentDelta(event);
    if (!added) continue;
    const { kind, delta } = added;
    const last = joined.at(-1);
    if (last?.kind === kind) last.data.delta += delta;
    else joined.push({ kind, data: { session_id, run_id, step, attempt, message_id, offset, delta } });
  }
  return joined;
}

/** The text or thinking that an event of the model's stream adds; undefined if it adds none. */
function contentDelta(event: ModelStreamEvent): { readonly kind: Kind; readonly delta: string } | undefined {
  if (event.type !== "content_block_delta") return undefined;
  const { type, text, thinking } = (event["delta"] ?? {}) as { type?: string; text?: string; thinking?: string };
  if (type === "text_delta" && typeof text === "string") return { kind: "text", delta: text };
  if (type === "thinking_delta" && typeof thinking === "string") return { kind: "thinking", delta: thinking };
  return undefined;
}
