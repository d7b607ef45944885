import {
  type ModelAbilities,
  type ModelCall,
  type PreparedCall,
  type Turn,
  askedOutput,
  carriedOver,
  carryOf,
  isStrict,
} from "@skein/core";
import { type ContentBlock, type JsonObject, blocksOf, isToolUse } from "@skein/protocol";
import {
  callOf,
  dataUrl,
  documentText,
  effortOf,
  errorText,
  plainText,
  resultText,
  splitTurn,
  titleOf,
} from "../conversation.ts";
import type { ChatQuirks } from "./quirks.ts";

/** Makes the body of a call to the Chat Completions API. */
export function chatBody(
  call: ModelCall,
  { name, abilities, quirks }: { name: string; abilities: ModelAbilities; quirks: ChatQuirks },
): PreparedCall {
  const { turns, leftOut } = carriedOver(call.turns, { name: call.model, readsClaude: false, abilities });
  const output = askedOutput(call, abilities);
  const tools = abilities.tools ? [...call.tools, ...(output?.tool ? [output.tool] : [])] : [];
  const system = output?.system ?? call.system;
  const body: JsonObject = {
    ...call.extra,
    model: name,
    messages: [
      ...(system === "" ? [] : [{ role: quirks.system_role, content: system }]),
      ...turns.flatMap((turn) =>
        turn.role === "user" ? userMessages(turn, turns, quirks) : assistantMessage(turn, quirks),
      ),
    ],
    [quirks.max_tokens_field]: call.maxTokens,
    ...(tools.length > 0 && {
      tools: tools.map(({ name: tool, description, input_schema: parameters }) => ({
        type: "function",
        function: { name: tool, description, parameters },
      })),
    }),
    ...(call.toolChoice === "none" && tools.length > 0 && { tool_choice: "none" }),
    ...(!abilities.parallelTools && tools.length > 0 && { parallel_tool_calls: false }),
    ...(abilities.thinking && thinkingFields(call.thinkingTokens, quirks)),
    ...(output?.schema && {
      response_format: {
        type: "json_schema",
        json_schema: { name: output.name, schema: output.schema, strict: isStrict(output.schema) },
      },
    }),
    stream: true,
    ...(!quirks.no_stream_options && { stream_options: { include_usage: true } }),
  };
  return { api: "chat_completions", body, leftOut };
}

function thinkingFields(tokens: number, { thinking }: ChatQuirks): JsonObject {
  const effort = effortOf(tokens);
  switch (thinking) {
    case "none":
      return {};
    case "reasoning_effort":
      return effort ? { reasoning_effort: effort } : {};
    case "reasoning":
      return effort ? { reasoning: { effort } } : {};
    case "thinking":
      return { thinking: { type: effort ? "enabled" : "disabled" } };
    case "enable_thinking":
      return { enable_thinking: effort !== undefined };
    case "chat_template_kwargs":
      return { chat_template_kwargs: { enable_thinking: effort !== undefined } };
  }
}

/**
 * Converts a turn of the user. Each tool result becomes a separate message. Results can only be text, so their images
 * follow in a message of the user.
 */
function userMessages(turn: Turn, turns: readonly Turn[], quirks: ChatQuirks): readonly JsonObject[] {
  const { results, parts } = splitTurn(turn);
  return [
    ...results.map((result) => resultMessage(result, turns, quirks)),
    ...(parts.length > 0 ? [{ role: "user", content: userContent(parts) }] : []),
  ];
}

function resultMessage(result: ContentBlock, turns: readonly Turn[], { named_results }: ChatQuirks): JsonObject {
  const call = callOf(result, turns);
  const text = resultText(result);
  return {
    role: "tool",
    tool_call_id: call ? providerId(call) : result["tool_use_id"],
    ...(named_results && call && { name: call.name }),
    content: result["is_error"] === true ? errorText(text) : text,
  };
}

function userContent(parts: readonly ContentBlock[]): unknown {
  if (parts.every(({ type }) => type === "text")) return parts.map(({ text }) => String(text)).join("\n");
  return parts.map((part) => {
    switch (part.type) {
      case "image":
        return { type: "image_url", image_url: { url: dataUrl(part) } };
      case "document": {
        const text = documentText(part);
        if (text !== undefined) return { type: "text", text };
        return { type: "file", file: { filename: titleOf(part), file_data: dataUrl(part) } };
      }
      default:
        return { type: "text", text: plainText(part) };
    }
  });
}

function assistantMessage({ content }: Turn, quirks: ChatQuirks): readonly JsonObject[] {
  const blocks = blocksOf(content);
  const text = blocks.flatMap((block) => (block.type === "text" ? [String(block["text"])] : [])).join("");
  const calls = blocks.filter(isToolUse);
  const message = {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...reasoningBack(blocks, quirks),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) => ({
        id: providerId(call),
        type: "function",
        function: { name: call.name, arguments: JSON.stringify(call.input ?? {}) },
      })),
    }),
  };
  // Servers reject an empty message, so an answer without text and calls is left out.
  return text === "" && calls.length === 0 ? [] : [message];
}

/**
 * Returns the earlier reasoning for the server: the `reasoning_details` that the server sent, and the text if the
 * server requires it.
 */
function reasoningBack(blocks: readonly ContentBlock[], { reasoning_back }: ChatQuirks): JsonObject {
  const thinking = blocks.filter(({ type }) => type === "thinking");
  const details = thinking.flatMap((block) => {
    const { reasoning_details = [] } = (carryOf(block)?.data ?? {}) as { readonly reasoning_details?: unknown[] };
    return reasoning_details;
  });
  const text = thinking.map(({ thinking: said }) => String(said)).join("");
  return {
    ...(details.length > 0 && { reasoning_details: details }),
    ...(reasoning_back !== "none" && text !== "" && { [reasoning_back]: text }),
  };
}

/** Returns the server's id of a tool call. */
function providerId(call: ContentBlock): unknown {
  const { id } = (carryOf(call)?.data ?? {}) as { readonly id?: unknown };
  return id ?? call["id"];
}
