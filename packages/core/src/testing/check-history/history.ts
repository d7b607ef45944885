import type { Event, Message, MessageRow, Run, Session, Usage } from "@skein/protocol";

/**
 * The record of what clients, workers, tools and readers did in one test. It is plain data, so that a test rig can
 * write it to a file and check it later.
 */
export interface History {
  /** The requests of clients and the answers that they got. */
  readonly operations: readonly Operation[];
  /** The sessions that exist in the store at the end. */
  readonly sessions: readonly StoredSession[];
  /**
   * The actions on leases and logs that the store accepted, in the order of the commits. Test rigs that cannot see
   * claims record only appends.
   */
  readonly acts: readonly Act[];
  /** The effects of tools, counted outside of Skein without removing duplicates. Null if nobody counted. */
  readonly effects: readonly Effect[] | null;
  /** The calls that the model received. Null if nobody counted. */
  readonly modelCalls: readonly ModelCall[] | null;
  readonly streams: readonly Stream[];
  /** Unexpected errors, such as a log that cannot be folded. */
  readonly errors: readonly string[];
  /** Whether the faults stopped so long ago that every accepted prompt must have its answer. */
  readonly mustFinish: boolean;
}

/** One operation of a client. `unknown`: no answer arrived, so the operation may have happened or may still happen. */
export interface Operation {
  readonly client: string;
  readonly kind: "create" | "prompt" | "cancel" | "edit" | "fork" | "delete";
  outcome: "ok" | "refused" | "unknown";
  /** The idempotency key. Without a key, the client tries only once. */
  readonly key: string | null;
  /** The prompt or the title. No other operation of this kind has the same text. */
  readonly text: string | null;
  /** The session; null while the answer to its creation has not arrived. */
  sessionId: string | null;
  messageId: string | null;
  /** The sequence of the fact in the log, according to the answer to the client. */
  sequence: number | null;
}

export interface StoredSession {
  readonly sessionId: string;
  readonly events: readonly Event[];
  readonly session: Session;
  /** Oldest first. */
  readonly runs: readonly Run[];
  readonly messages: readonly MessageRow[];
}

/** An action on a lease or a log that the store accepted. `until` is the end of the lease after this action. */
export interface Act {
  readonly kind: "claim" | "append" | "renew" | "release" | "free";
  readonly at: number;
  readonly sessionId: string;
  readonly owner: string;
  readonly fence: number;
  readonly until: number;
  /** The first and last sequence of an append. */
  readonly first?: number;
  readonly last?: number;
}

export interface Effect {
  readonly at: number;
  readonly sessionId: string;
  readonly toolUseId: string;
  readonly policy: "once" | "repeatable";
  readonly by: string;
}

export interface ModelCall {
  readonly at: number;
  readonly sessionId: string;
  readonly runId: string;
  readonly step: number;
  readonly messages: readonly Omit<Message, "id">[];
  /** Null if the call gave no answer. */
  usage: Usage | null;
}

/** The events that a reader received from a log, starting at the requested place. */
export interface Stream {
  readonly reader: string;
  readonly sessionId: string;
  readonly after: number;
  readonly events: Event[];
  /** Whether the reader was connected until the end. If so, it must have received the last event. */
  complete: boolean;
}

export type Invariant =
  | "I1"
  | "I2"
  | "I3"
  | "I4"
  | "I5"
  | "I6"
  | "I7"
  | "I8"
  | "I9"
  | "I10"
  | "I11"
  | "I12"
  | "I13"
  | "I14"
  | "I16"
  | "bug";

export interface Violation {
  readonly invariant: Invariant;
  readonly sentence: string;
  readonly evidence: Readonly<Record<string, unknown>>;
}

export type Report = (invariant: Invariant, sentence: string, evidence: Violation["evidence"]) => void;
