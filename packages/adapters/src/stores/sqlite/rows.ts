import { type RunCounters, costBreakdown, costTotals, modelTotals, usageTotals } from "@skein/core";
import type { Await, Checkpoint, Event, MessageRow, Run, Session } from "@skein/protocol";

type Row = Readonly<Record<string, unknown>>;

export function toEvent(row: Row): Event {
  return {
    id: row["id"],
    session_id: row["session_id"],
    sequence: row["sequence"],
    event_type: row["event_type"],
    data: JSON.parse(row["body"] as string),
    created_at: row["created_at"],
  } as Event;
}

/** The keys are written out, because rest and spread over these columns take ten times as long. */
export function toSession(row: Row): Session {
  return {
    id: row["id"],
    tenant: row["tenant"],
    agent_id: row["agent_id"],
    agent_version: row["agent_version"],
    title: row["title"],
    tags: JSON.parse(row["tags"] as string),
    model: row["model"],
    model_id: row["model_id"],
    working_directory: row["working_directory"],
    metadata: JSON.parse(row["metadata"] as string),
    status: row["status"],
    outcome: row["outcome"],
    run_id: row["run_id"],
    current_step: row["current_step"],
    container_id: row["container_id"],
    created_at: row["created_at"],
    updated_at: row["updated_at"],
    started_at: row["started_at"],
    finished_at: row["finished_at"],
    last_run_at: row["last_run_at"],
    parent_session_id: row["parent_session_id"],
    forked_from_sequence: row["forked_from_sequence"],
    subagent_of_session_id: row["subagent_of_session_id"],
    subagent_of_tool_use_id: row["subagent_of_tool_use_id"],
    opened_by: row["opened_by"],
    total_runs: row["total_runs"],
    total_turns: row["total_turns"],
    ...costTotals(row as unknown as RunCounters),
    reserved_micros: row["reserved_micros"],
    reserved_until: row["reserved_until"],
    usage: {
      input_tokens: row["input_tokens"],
      output_tokens: row["output_tokens"],
      cache_creation_input_tokens: row["cache_creation_input_tokens"],
      cache_read_input_tokens: row["cache_read_input_tokens"],
    },
    has_unknown_effect: row["has_unknown_effect"] === 1,
    last_known_input_tokens: row["last_known_input_tokens"],
    last_known_output_tokens: row["last_known_output_tokens"],
  } as Session;
}

export function toMessageRow(row: Row): MessageRow {
  return { ...row, content: JSON.parse(row["content"] as string) } as MessageRow;
}

export function toRun(row: Row, files: readonly Row[], models: readonly Row[]): Run {
  const counters = row as unknown as RunCounters;
  return {
    id: row["id"],
    session_id: row["session_id"],
    number: row["number"],
    started_at: row["started_at"],
    completed_at: row["completed_at"],
    outcome: row["outcome"],
    stop_reason: row["stop_reason"],
    user_message: row["user_message"],
    final_response: row["final_response"],
    total_steps: row["total_steps"],
    usage: usageTotals(counters),
    cost: costBreakdown(counters, row["model"] as string, row["long_context_applied"] === 1),
    ...costTotals(counters),
    reserved_micros: row["reserved_micros"],
    models: models.map((used) => modelTotals(used as unknown as RunCounters & { readonly model: string })),
    generated_files: files.map(({ session_id: _s, run_id: _r, place: _p, created_at: timestamp, ...file }) => ({
      ...file,
      timestamp,
    })),
    first_sequence: row["first_sequence"],
    last_sequence: row["last_sequence"],
  } as Run;
}

export function toAwait(row: Row): Await {
  const { place: _, input, ...rest } = row;
  return { ...rest, input: JSON.parse(input as string) } as Await;
}

export function toCheckpoint(row: Row): Checkpoint {
  return { ...row, files_modified: JSON.parse(row["files_modified"] as string) } as Checkpoint;
}
