import type { Event } from "@skein/protocol";
import type { SessionColumns } from "./row-changes.ts";

/** The row of a session that has just been created. */
export function sessionColumns({
  session_id,
  created_at,
  data,
}: Extract<Event, { readonly event_type: "session.created" }>): SessionColumns {
  return {
    id: session_id,
    tenant: data.tenant,
    agent_id: data.agent_id,
    agent_version: data.agent_version,
    title: data.title,
    tags: data.tags,
    model: data.agent.model,
    model_id: data.model_id,
    working_directory: data.working_directory,
    metadata: data.metadata,
    status: "idle",
    outcome: null,
    run_id: null,
    current_step: 0,
    container_id: null,
    created_at,
    updated_at: created_at,
    started_at: null,
    finished_at: null,
    last_run_at: null,
    parent_session_id: data.parent?.session_id ?? null,
    forked_from_sequence: data.parent?.sequence ?? null,
    subagent_of_session_id: data.subagent_of?.session_id ?? null,
    subagent_of_tool_use_id: data.subagent_of?.tool_use_id ?? null,
    opened_by: data.opened_by ?? null,
    has_unknown_effect: false,
    last_known_input_tokens: 0,
    last_known_output_tokens: 0,
    reserved_micros: 0,
    reserved_until: null,
  };
}
