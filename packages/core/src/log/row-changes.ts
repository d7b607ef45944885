import type { Await, Checkpoint, MessageRow, Run, Session } from "@skein/protocol";
import type { Counters, RunCounters } from "./counters.ts";
import type { RowPart } from "./message-rows.ts";

export type SessionColumns = Omit<Session, "usage" | "cost_picos" | keyof Counters | "total_runs" | "total_turns">;

/** A row of a message in a store. `number` is null until the message enters the transcript. */
export interface MessageInsert extends RowPart {
  readonly runId: string | null;
  /** The sequence of the event that contains the content. */
  readonly sequence: number;
  readonly number: number | null;
  readonly createdAt: string;
}

/** Gives the existing rows of a message their numbers. The row with part 0 gets `first`, part 1 the next number. */
export interface MessageEntry {
  readonly messageId: string;
  readonly runId: string;
  readonly first: number;
}

export type RunColumns = Omit<
  Run,
  "usage" | "cost" | "cost_picos" | "reserved_micros" | "models" | "generated_files" | "number" | keyof Counters
> & {
  readonly model: string;
};

/** A file that a run made: a row of generated_files in the agent tables. */
export interface FileRow {
  readonly session_id: string;
  readonly run_id: string;
  readonly file_id: string;
  readonly filename: string;
  readonly storage_path: string;
  readonly size: number;
  readonly mime_type: string;
  readonly step: number;
  readonly created_at: string;
}

export interface RunUpdate {
  readonly id: string;
  readonly set: Partial<
    Pick<RunColumns, "completed_at" | "outcome" | "stop_reason" | "final_response" | "last_sequence">
  > & {
    total_steps?: number;
    reserved_micros?: number;
    model?: string;
    long_context_applied?: boolean;
  };
  readonly add: RunCounters;
  readonly models: readonly (Counters & { readonly model: string })[];
}

/**
 * The changes that an append makes to the projections (rows derived from events), as row operations. Numbers of
 * messages and runs count within this append, from 1. The store adds how many messages or runs the session had before.
 * So these changes are computed without a read, and the store does not interpret events.
 */
export interface Changes {
  readonly sessionInsert: SessionColumns | null;
  readonly sessionSet: Partial<SessionColumns>;
  readonly sessionAdd: Counters & { total_turns: number };
  readonly runInserts: readonly RunColumns[];
  readonly runUpdates: readonly RunUpdate[];
  readonly messageInserts: readonly MessageInsert[];
  readonly messageEntries: readonly MessageEntry[];
  /** How many message numbers this append uses. */
  readonly messagesEntered: number;
  readonly awaitInserts: readonly Await[];
  readonly awaitCloses: readonly Pick<Await, "tool_use_id" | "closed_at" | "resolution">[];
  readonly checkpointInserts: readonly Checkpoint[];
  readonly fileInserts: readonly FileRow[];
}

/** Makes the row that `Store.messages` returns. */
export function messageRow(row: MessageInsert & { readonly number: number }, sessionId: string): MessageRow {
  return {
    id: row.id,
    session_id: sessionId,
    sequence: row.number,
    role: row.role,
    content: row.content,
    tool_call_id: row.toolCallId,
    created_at: row.createdAt,
  };
}
