import type { DraftPiece } from "../../draft-piece.ts";
import { type Content, blocksOf, textOf } from "../../content.ts";
import type { Event, FactData } from "../../event.ts";
import type { Message } from "../../session.ts";
import type { Envelope } from "./envelope.ts";
import { createMessageEnvelopes } from "./message-envelopes.ts";

/** Options of a formatter. */
export interface FormatOptions {
  /**
   * Adds frames with history, tool results and files. Requests call this option `stream_meta_history_and_tool_results`.
   */
  readonly meta?: boolean;
  /** The messages before the run. The first frame sends them as the history. */
  readonly history?: readonly Message[];
}

/**
 * Turns the events of a run into envelopes, which are pieces of the stream. An enveloper remembers the text that it
 * returned, and returns every part once.
 */
export interface Enveloper {
  add(item: Event | DraftPiece): readonly Envelope[];
}

const BROKEN_OFF = { code: "abandoned", message: "The answer broke off before its end." };

export function createEnveloper(options: FormatOptions = {}): Enveloper {
  const messages = createMessageEnvelopes();
  const files: object[] = [];

  return {
    add(item) {
      if ("event" in item) return messages.stream(item);
      switch (item.event_type) {
        case "session.started":
          return options.meta ? [started(item.data, item.session_id, options.history ?? [])] : [];
        case "step.generated":
          return messages.settle(item.data, item.session_id);
        case "step.retried":
          return messages.reset(item.session_id, item.data.error);
        case "step.error":
        case "step.abandoned": {
          const { message_id, content } = item.data;
          if (message_id !== undefined && content) return messages.interrupt({ message_id, content }, item.session_id);
          const error = item.event_type === "step.error" ? item.data.error : BROKEN_OFF;
          return messages.reset(item.session_id, error);
        }
        case "tool.completed":
          return options.meta ? results(item.data, item.session_id) : [];
        case "await.opened":
          return waiting(item.data, item.session_id);
        case "file.stored": {
          const { run_id: _, duration_ms: __, happened_at: ___, ...file } = item.data;
          files.push({ ...file, timestamp: item.created_at });
          return [];
        }
        case "session.completed":
        case "session.failed":
          return ended(item, options.meta ? files : undefined);
        default:
          return [];
      }
    },
  };
}

function started(data: FactData<"session.started">, agent: string, history: readonly Message[]): Envelope {
  const { run_id, user_message, formatter } = data;
  const message_history = history.map(({ role, content }) => ({ role, content }));
  return whole("meta_init", agent, run_id, {
    agent_uuid: agent,
    run_id,
    format: formatter,
    user_query: user_message,
    message_history,
  });
}

function results(data: FactData<"tool.completed">, agent: string): readonly Envelope[] {
  const { tool_use_id: id, name, content, is_error } = data;
  const text: Envelope = { type: "tool_result", agent, final: true, delta: textOf(content), id, name, is_error };
  return [text, ...images(content, agent, id, name)];
}

function images(content: Content, agent: string, id: string, name: string): readonly Envelope[] {
  return blocksOf(content).flatMap((block, index): Envelope[] => {
    const source = block["source"] as { data?: string; media_type?: string; url?: string } | undefined;
    if (block.type !== "image" || !source) return [];
    const delta = source.data ?? source.url ?? "";
    const media_type = source.media_type ?? "";
    return [{ type: "tool_result_image", agent, final: true, delta, id: `${id}:${index}`, name, media_type }];
  });
}

/** Leaves out awaits for subagents, because the client does not answer them. */
function waiting(data: FactData<"await.opened">, agent: string): readonly Envelope[] {
  const awaits = data.awaits.filter(({ kind }) => kind !== "subagent");
  if (awaits.length === 0) return [];
  const pending = awaits.map(({ tool_use_id, name, input, kind, expires_at }) => ({
    tool_use_id,
    name,
    input,
    kind,
    expires_at,
  }));
  const id = `${data.run_id}:${awaits[0]?.tool_use_id ?? data.step}`;
  return [whole("awaiting_frontend_tools", agent, id, pending)];
}

function ended(
  event: Extract<Event, { event_type: "session.completed" | "session.failed" }>,
  files: readonly object[] | undefined,
): readonly Envelope[] {
  const { session_id: agent, data } = event;
  const { run_id: id, stop_reason, step: total_steps, usage, cost_micros, duration_ms } = data;
  const error: Envelope[] =
    event.event_type === "session.failed"
      ? [{ type: "error", agent, final: true, delta: event.data.error.message, id, code: event.data.error.code }]
      : [];
  if (!files) return error;
  const final_response = event.event_type === "session.completed" ? event.data.final_response : null;
  return [
    ...error,
    ...(files.length > 0 ? [whole("meta_files", agent, id, { files })] : []),
    whole("meta_final", agent, id, {
      run_id: id,
      stop_reason,
      total_steps,
      usage,
      cost_micros,
      duration_ms,
      final_response,
    }),
  ];
}

function whole(type: Envelope["type"], agent: string, id: string, value: unknown): Envelope {
  return { type, agent, final: true, delta: JSON.stringify(value), id };
}
