/** An answer as a `chat.completion`. */
import type { Quirks } from "../../script.ts";
import type { AssistantMessage, Block, JsonObject, StopReason, Usage } from "../../wire.ts";
import type { Answer } from "../dialect.ts";
import { inputText } from "../stream.ts";

const FINISH: Readonly<Record<StopReason, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
};

export function completionOf({ message, step, now }: Answer): JsonObject {
  const { quirks = {} } = step;
  const calls = callsOf(message);
  const thinking = textOf(message, "thinking");
  return {
    id: completionId(message),
    object: "chat.completion",
    created: Math.floor(now / 1000),
    model: message.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: textOf(message, "text") || null,
          refusal: null,
          annotations: [],
          ...reasoning(thinking, quirks),
          ...(calls.length > 0 && { tool_calls: calls.map((call) => toolCall(call, quirks)) }),
        },
        logprobs: null,
        finish_reason: finishOf(message, quirks),
      },
    ],
    ...(quirks.usage !== "missing" && { usage: usageOf(message.usage, quirks) }),
    service_tier: "default",
    system_fingerprint: "fp_simulated",
  };
}

export function completionId({ id }: AssistantMessage): string {
  return id.replace(/^msg_/, "chatcmpl-");
}

export function finishOf({ stop_reason }: AssistantMessage, { stopBesideCalls }: Quirks): string {
  return stopBesideCalls && stop_reason === "tool_use" ? "stop" : FINISH[stop_reason];
}

export function callsOf({ content }: AssistantMessage): readonly Block[] {
  return content.filter((block) => block.type === "tool_use");
}

export function textOf({ content }: AssistantMessage, type: "text" | "thinking"): string {
  return content.flatMap((block) => (block.type === type ? [String(block[type])] : [])).join("");
}

/** Reasoning, in the fields that `quirks` names. OpenAI itself does not return reasoning in this API. */
export function reasoning(text: string, quirks: Quirks): JsonObject {
  if (text === "") return {};
  const places = quirks.reasoning ?? ["reasoning_content"];
  const detail = { type: "reasoning.text", text, format: "unknown", index: 0 };
  return Object.fromEntries(places.map((key) => [key, key === "reasoning_details" ? [detail] : text]));
}

/** In this API, the prompt tokens include cached tokens, and the answer tokens include reasoning. */
export function usageOf(usage: Usage, { cached }: Quirks): JsonObject {
  const { input_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written, output_tokens } = usage;
  const prompt = input_tokens + read + written;
  const details = { cached_tokens: read, cache_write_tokens: written, audio_tokens: 0 };
  return {
    prompt_tokens: prompt,
    completion_tokens: output_tokens,
    total_tokens: prompt + output_tokens,
    ...(cached === undefined
      ? { prompt_tokens_details: details }
      : { prompt_cache_hit_tokens: read, prompt_cache_miss_tokens: input_tokens + written }),
    completion_tokens_details: {
      reasoning_tokens: usage.output_tokens_details.thinking_tokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

function toolCall(call: Block, quirks: Quirks): JsonObject {
  const text = inputText(call);
  return {
    ...(quirks.id !== "missing" && { id: call.id }),
    type: "function",
    function: { name: call.name, arguments: quirks.objectArguments ? call.input : text },
  };
}
