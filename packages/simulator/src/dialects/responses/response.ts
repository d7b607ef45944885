/** An answer as a response with its items. */
import { isObject, type AssistantMessage, type Block, type JsonObject, type Usage } from "../../wire.ts";
import type { Answer } from "../dialect.ts";
import { inputText } from "../stream.ts";
import { seal } from "./sealed-reasoning.ts";

const INCOMPLETE: Readonly<Record<string, string>> = {
  max_tokens: "max_output_tokens",
  model_context_window_exceeded: "max_output_tokens",
  refusal: "content_filter",
};

export function responseOf(answer: Answer): JsonObject {
  const { message, now } = answer;
  const reason = INCOMPLETE[message.stop_reason];
  return {
    ...headOf(answer),
    status: reason === undefined ? "completed" : "incomplete",
    completed_at: Math.floor(now / 1000),
    incomplete_details: reason === undefined ? null : { reason },
    output: itemsOf(answer),
    usage: usageOf(message.usage),
  };
}

/** A response before its first output item. */
export function headOf({ message, asked, now }: Answer): JsonObject {
  return {
    id: responseId(message),
    object: "response",
    created_at: Math.floor(now / 1000),
    status: "in_progress",
    background: false,
    error: null,
    incomplete_details: null,
    instructions: asked.instructions ?? null,
    max_output_tokens: asked.max_output_tokens ?? null,
    max_tool_calls: null,
    model: message.model,
    output: [],
    parallel_tool_calls: asked.parallel_tool_calls ?? true,
    previous_response_id: null,
    prompt_cache_key: asked.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...(isObject(asked.reasoning) && asked.reasoning) },
    service_tier: "default",
    store: asked.store ?? true,
    temperature: 1,
    text: asked.text ?? { format: { type: "text" }, verbosity: "medium" },
    tool_choice: asked.tool_choice ?? "auto",
    tools: asked.tools ?? [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    usage: null,
    user: null,
    metadata: asked.metadata ?? {},
  };
}

function itemsOf({ message, asked }: Answer): readonly JsonObject[] {
  const sealed = Array.isArray(asked.include) && asked.include.includes("reasoning.encrypted_content");
  return message.content.flatMap((block, index) => itemOf(block, `${responseId(message).slice(5)}${index}`, sealed));
}

function itemOf(block: Block, id: string, sealed: boolean): readonly JsonObject[] {
  switch (block.type) {
    case "thinking": {
      const text = String(block.thinking);
      const encrypted = sealed ? { encrypted_content: seal(text, `rs_${id}`) } : {};
      // Hidden reasoning has no summary, but the client must send it back too.
      const summary = text === "" ? [] : [{ type: "summary_text", text }];
      return [{ id: `rs_${id}`, type: "reasoning", summary, ...encrypted }];
    }
    case "text": {
      const content = [{ type: "output_text", text: block.text, annotations: [], logprobs: [] }];
      return [{ id: `msg_${id}`, type: "message", status: "completed", role: "assistant", content }];
    }
    case "tool_use": {
      const { id: call_id, name } = block;
      return [
        { id: `fc_${id}`, type: "function_call", status: "completed", arguments: inputText(block), call_id, name },
      ];
    }
    default:
      return [];
  }
}

function responseId({ id }: AssistantMessage): string {
  return id.replace(/^msg_/, "resp_");
}

/** In this API, the input tokens include cached tokens, and the output tokens include reasoning. */
function usageOf(usage: Usage): JsonObject {
  const { input_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written, output_tokens } = usage;
  const input = input_tokens + read + written;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    output_tokens,
    output_tokens_details: { reasoning_tokens: usage.output_tokens_details.thinking_tokens },
    total_tokens: input + output_tokens,
  };
}
