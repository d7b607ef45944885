/** An answer as one `GenerateContentResponse`, or as several partial ones. */
import type { AssistantMessage, JsonObject, StopReason, Usage } from "../../wire.ts";
import type { Answer } from "../dialect.ts";
import { pieces, type StreamEvent } from "../stream.ts";
import { thoughtSignature } from "./thought-signature.ts";

const FINISH: Readonly<Record<StopReason, string>> = {
  end_turn: "STOP",
  stop_sequence: "STOP",
  pause_turn: "STOP",
  tool_use: "STOP",
  max_tokens: "MAX_TOKENS",
  model_context_window_exceeded: "MAX_TOKENS",
  refusal: "SAFETY",
};

export function contentResponse({ message }: Answer): JsonObject {
  const parts = partsOf(message);
  return {
    candidates: [{ content: { parts, role: "model" }, finishReason: FINISH[message.stop_reason], index: 0 }],
    usageMetadata: usageOf(message.usage),
    modelVersion: message.model,
    responseId: message.id,
  };
}

export function contentChunks({ message, step }: Answer): readonly StreamEvent[] {
  const usageMetadata = usageOf(message.usage);
  const small = partsOf(message).flatMap((part) => smallParts(part, step.chunk));
  const chunk = (kind: StreamEvent["kind"], candidate: JsonObject): StreamEvent => {
    const data = { candidates: [candidate], usageMetadata, modelVersion: message.model, responseId: message.id };
    return { text: `data: ${JSON.stringify(data)}\r\n\r\n`, kind };
  };
  const end = {
    content: { parts: [{ text: "" }], role: "model" },
    finishReason: FINISH[message.stop_reason],
    index: 0,
  };
  return [
    ...small.map((part) => chunk("delta", { content: { parts: [part], role: "model" }, index: 0 })),
    chunk("end", end),
  ];
}

/**
 * Returns the thoughts, the text and the calls. The signature of the thoughts is on the first call, or on the text of
 * an answer without calls.
 */
function partsOf({ content }: AssistantMessage): readonly JsonObject[] {
  const thinking = content.find((block) => block.type === "thinking");
  const signature = thinking ? { thoughtSignature: thoughtSignature(String(thinking.thinking)) } : {};
  const signed = content.find((block) => block.type === "tool_use") ?? content.find((block) => block.type === "text");
  return content.flatMap((block): readonly JsonObject[] => {
    const beside = block === signed ? signature : {};
    if (block.type === "thinking") return [{ text: block.thinking, thought: true }];
    if (block.type === "text") return [{ text: block.text, ...beside }];
    return block.type === "tool_use" ? [{ functionCall: { name: block.name, args: block.input }, ...beside }] : [];
  });
}

/** Cuts a text into pieces; the last piece has the signature. A call stays in one piece. */
function smallParts(
  { text, thoughtSignature: signature, ...part }: JsonObject,
  size: number | undefined,
): readonly JsonObject[] {
  const beside = signature === undefined ? {} : { thoughtSignature: signature };
  if (typeof text !== "string") return [{ ...part, ...beside }];
  const all = pieces(text, size);
  return all.map((piece, at) => ({ ...part, text: piece, ...(at === all.length - 1 && beside) }));
}

/** In this API, the prompt tokens include cached tokens, and the answer tokens exclude thoughts. */
function usageOf(usage: Usage): JsonObject {
  const { input_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written, output_tokens } = usage;
  const prompt = input_tokens + read + written;
  const thoughts = usage.output_tokens_details.thinking_tokens;
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: output_tokens - thoughts,
    totalTokenCount: prompt + output_tokens,
    ...(read > 0 && { cachedContentTokenCount: read }),
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    promptTokensDetails: [{ modality: "TEXT", tokenCount: prompt }],
  };
}
