import { type SessionTables, contextOf } from "@skein/core";
import type { JsonObject, Message, Run } from "@skein/protocol";
import type { DocumentState } from "./document-state.ts";

/**
 * Returns the content of `conversation_history/{agent_uuid}/{sequence}.json` of the agent tables, for a run that has
 * ended.
 */
export function conversationDocument(run: Run, documentState: DocumentState): JsonObject | undefined {
  const span = documentState.spans.get(run.id);
  if (!documentState.state || !span || span.to === null) return undefined;
  return {
    conversation_id: run.id,
    agent_uuid: run.session_id,
    run_id: run.id,
    started_at: run.started_at,
    completed_at: run.completed_at,
    user_message: run.user_message,
    final_response: run.final_response,
    messages: documentState.state.transcript.slice(span.from, span.to).map(shown),
    stop_reason: run.stop_reason,
    total_steps: run.total_steps,
    usage: run.usage,
    generated_files: run.generated_files,
    cost: run.cost ?? {},
    extras: {},
    sequence_number: run.number,
    created_at: run.completed_at,
  };
}

/** Returns the content of `agent_config/{agent_uuid}.json` of the agent tables. It is enough to resume the session. */
export function configDocument(
  { session, awaits }: SessionTables,
  { state, spans }: DocumentState,
): JsonObject | undefined {
  if (!state?.agent) return undefined;
  const { agent, run } = state;
  const pending = awaits
    .filter(({ kind, closed_at }) => kind === "frontend_tool" && closed_at === null)
    .map(({ tool_use_id, name, input }) => ({ tool_use_id, name, input }));
  const awaiting = session.status === "awaiting" && pending.length > 0;
  const done = awaiting ? (run?.calls.filter(({ phase }) => phase === "done") ?? []) : [];
  const span = awaiting && run ? spans.get(run.runId) : undefined;
  return {
    agent_uuid: session.id,
    system_prompt: agent.system_prompt,
    model: agent.model,
    max_steps: agent.max_steps,
    thinking_tokens: agent.thinking_tokens,
    max_tokens: agent.max_tokens,
    container_id: session.container_id,
    messages: contextOf(state).map(shown),
    tool_schemas: agent.tool_schemas,
    tool_names: agent.tool_schemas.map(({ name }) => name),
    server_tools: agent.server_tools,
    beta_headers: agent.beta_headers,
    api_kwargs: agent.api_kwargs,
    formatter: agent.formatter,
    stream_meta_history_and_tool_results: agent.stream_meta_history_and_tool_results,
    compactor_type: agent.compactor_type,
    memory_store_type: agent.memory_store_type,
    file_registry: state.files,
    max_retries: agent.max_retries,
    base_delay: agent.base_delay,
    last_known_input_tokens: session.last_known_input_tokens,
    last_known_output_tokens: session.last_known_output_tokens,
    pending_frontend_tools: pending,
    pending_backend_results: done.map(({ toolUseId, result }) => ({
      type: "tool_result",
      tool_use_id: toolUseId,
      content: result?.content ?? "",
      ...(result?.isError && { is_error: true }),
    })),
    awaiting_frontend_tools: awaiting,
    current_step: session.current_step,
    conversation_history: span ? state.transcript.slice(span.from).map(shown) : [],
    title: session.title,
    extras: agent.extras,
    created_at: session.created_at,
    updated_at: session.updated_at,
    last_run_at: session.last_run_at,
    total_runs: session.total_runs,
  };
}

/** Formats a document for people, with indentation and a line break at the end. */
export function documentText(document: JsonObject): string {
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** Returns how many digits the numbers in file names have. The specification requires at least three. */
export function nameWidth(lastNumber: number): number {
  return Math.max(3, String(lastNumber).length);
}

export function conversationName(number: number, width: number): string {
  return `${String(number).padStart(width, "0")}.json`;
}

function shown({ role, content }: Omit<Message, "id">): JsonObject {
  return { role, content };
}
