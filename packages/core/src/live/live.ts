import type { Draft } from "@skein/protocol";
import type { ModelStreamEvent } from "../ports/model.ts";

/** One piece of a step that is being generated. It is not stored, and may be lost: the fact that follows says it all. */
export interface LiveFrame {
  readonly session_id: string;
  readonly run_id: string;
  readonly step: number;
  readonly attempt: number;
  readonly message_id: string;
  /** Characters of text in this attempt before this frame. */
  readonly offset: number;
  readonly event: ModelStreamEvent;
  /** The log tells of this step only when it is over: nothing says before that it begins. */
  readonly isUnannounced?: boolean | undefined;
}

/** Carries what is not a fact: the text of a step while it is made. One process, or several through a bus. */
export interface Live {
  publish(frame: LiveFrame): void;
  /** Calls back for each frame of a session; a listener that joins in the middle first gets what there is so far. */
  subscribe(sessionId: string, listener: (frame: LiveFrame) => void): () => void;
  /** The attempt is over: what there was of it is forgotten. */
  clear(sessionId: string): void;
}

export function createMemoryLive(): Live {
  const listeners = new Map<string, Set<(frame: LiveFrame) => void>>();
  const current = new Map<string, LiveFrame[]>();

  return {
    publish(frame) {
      const frames = current.get(frame.session_id);
      if (frames && sameAttempt(frames[0], frame)) frames.push(frame);
      else current.set(frame.session_id, [frame]);
      for (const listener of listeners.get(frame.session_id) ?? []) listener(frame);
    },
    subscribe(sessionId, listener) {
      const set = listeners.get(sessionId) ?? new Set();
      listeners.set(sessionId, set.add(listener));
      for (const frame of current.get(sessionId) ?? []) listener(frame);
      return () => {
        set.delete(listener);
        if (set.size === 0) listeners.delete(sessionId);
      };
    },
    clear: (sessionId) => void current.delete(sessionId),
  };
}

export function sameAttempt(a: LiveFrame | undefined, b: LiveFrame): boolean {
  return a?.run_id === b.run_id && a.step === b.step && a.attempt === b.attempt && a.message_id === b.message_id;
}

/** Seed 004's draft of a frame: the text it adds, if it adds any. */
export function draftOf(frame: LiveFrame): Draft | undefined {
  const delta = textDelta(frame.event);
  if (delta === undefined) return undefined;
  const { session_id, run_id, step, attempt, message_id, offset } = frame;
  return { event_type: "step.generating", data: { session_id, run_id, step, attempt, message_id, offset, delta } };
}

export function textDelta(event: ModelStreamEvent): string | undefined {
  const delta = event["delta"] as { type?: string; text?: string } | undefined;
  return event.type === "content_block_delta" && delta?.type === "text_delta" ? delta.text : undefined;
}
