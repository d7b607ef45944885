import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import {
  type ModelAbilities,
  type ModelCall,
  type PreparedCall,
  type Turn,
  askedOutput,
  carriedOver,
  carryOf,
} from "@skein/core";
import { type ContentBlock, type JsonObject, blocksOf, isToolUse } from "@skein/protocol";
import {
  callOf,
  documentText,
  effortOf,
  errorText,
  plainText,
  resultText,
  splitTurn,
  titleOf,
} from "../conversation.ts";
import type { CarriedPart } from "./carried-part.ts";

type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** Converts a model call to the format of the AI SDK. Also returns the parts of the conversation that are left out. */
export function callOptions(
  call: ModelCall,
  { abilities, provider }: { readonly abilities: ModelAbilities; readonly provider: string },
): { readonly options: LanguageModelV4CallOptions; readonly leftOut: PreparedCall["leftOut"] } {
  const { turns, leftOut } = carriedOver(call.turns, { name: call.model, readsClaude: false, abilities });
  const output = askedOutput(call, abilities);
  const tools = abilities.tools ? [...call.tools, ...(output?.tool ? [output.tool] : [])] : [];
  const system = output?.system ?? call.system;
  const effort = abilities.thinking ? effortOf(call.thinkingTokens) : undefined;
  const options: LanguageModelV4CallOptions = {
    prompt: [
      ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
      ...turns.flatMap((turn) => (turn.role === "user" ? userMessages(turn, turns) : assistantMessage(turn))),
    ],
    maxOutputTokens: call.maxTokens,
    ...settingsIn(call.extra, provider),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, input_schema }) => ({
        type: "function",
        name,
        description,
        inputSchema: input_schema,
      })),
      toolChoice: { type: call.toolChoice },
    }),
    ...(effort && { reasoning: effort }),
    ...(output?.schema && { responseFormat: { type: "json", name: output.name, schema: output.schema } }),
  };
  return { options, leftOut };
}

/** Converts the settings: the common settings to call options, all others to provider options. */
function settingsIn(extra: JsonObject, provider: string): Partial<LanguageModelV4CallOptions> {
  const { temperature, top_p, top_k, stop_sequences, ...others } = extra;
  return {
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof top_p === "number" && { topP: top_p }),
    ...(typeof top_k === "number" && { topK: top_k }),
    ...(Array.isArray(stop_sequences) && { stopSequences: stop_sequences.map(String) }),
    ...(Object.keys(others).length > 0 && { providerOptions: { [provider]: others } as SharedV4ProviderOptions }),
  };
}

/**
 * Converts a turn of the user. Images of tool results come after the results, because several providers send an image
 * inside a result as text.
 */
function userMessages(turn: Turn, turns: readonly Turn[]): readonly LanguageModelV4Message[] {
  const { results, parts } = splitTurn(turn);
  return [
    ...(results.length > 0
      ? [{ role: "tool" as const, content: results.map((result) => toolResult(result, turns)) }]
      : []),
    ...(parts.length > 0 ? [{ role: "user" as const, content: parts.map(userPart) }] : []),
  ];
}

function toolResult(result: ContentBlock, turns: readonly Turn[]): LanguageModelV4ToolResultPart {
  const call = callOf(result, turns);
  const text = resultText(result);
  const isError = result["is_error"] === true;
  return {
    type: "tool-result",
    toolCallId: call ? providerId(call) : String(result["tool_use_id"]),
    toolName: call?.name ?? "unknown",
    output: isError ? { type: "error-text", value: errorText(text) } : { type: "text", value: text },
  };
}

function userPart(block: ContentBlock): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (block.type !== "image" && block.type !== "document") return { type: "text", text: plainText(block) };
  const text = block.type === "document" ? documentText(block) : undefined;
  if (text !== undefined) return { type: "text", text };
  const { type, media_type, data, url } = block["source"] as Readonly<Record<string, string | undefined>>;
  const mediaType = media_type ?? (block.type === "image" ? "image/*" : "application/pdf");
  return {
    type: "file",
    mediaType,
    data: type === "url" ? { type: "url", url: new URL(String(url)) } : { type: "data", data: String(data) },
    ...(block.type === "document" && { filename: titleOf(block) }),
  };
}

function assistantMessage({ content }: Turn): readonly LanguageModelV4Message[] {
  const parts = blocksOf(content).flatMap(assistantParts);
  return parts.length > 0 ? [{ role: "assistant", content: parts }] : [];
}

function assistantParts(block: ContentBlock): readonly AssistantPart[] {
  const { metadata, custom, isText } = carriedIn(block);
  const more = metadata ? { providerOptions: metadata } : {};
  if (custom !== undefined) return [{ type: "custom", kind: custom as `${string}.${string}`, ...more }];
  if (isToolUse(block))
    return [
      { type: "tool-call", toolCallId: providerId(block), toolName: block.name, input: block.input ?? {}, ...more },
    ];
  if (block.type === "thinking")
    return [{ type: isText ? "text" : "reasoning", text: String(block["thinking"]), ...more }];
  return [{ type: "text", text: plainText(block), ...more }];
}

function carriedIn(block: ContentBlock): CarriedPart {
  return carryOf(block)?.data ?? {};
}

/** Returns the provider's id of a tool call. */
function providerId(call: ContentBlock): string {
  return carriedIn(call).id ?? String(call["id"]);
}
