import {
  type LeftOut,
  type ModelAbilities,
  type ModelCall,
  type PreparedCall,
  type Turn,
  askedOutput,
  carriedOver,
  carryOf,
  isStrict,
} from "@skein/core";
import { type ContentBlock, type JsonObject, blocksOf, isJsonObject, isToolUse } from "@skein/protocol";
import { dataUrl, documentText, effortOf, errorText, plainText, titleOf } from "../conversation.ts";

/**
 * Makes the body of a call to the Responses API. OpenAI stores nothing, so the body has all items of the conversation.
 * OpenAI's items are sent unchanged.
 */
export function responsesBody(
  call: ModelCall,
  { name, abilities }: { name: string; abilities: ModelAbilities },
): PreparedCall {
  const { turns, leftOut } = carriedOver(call.turns, { name: call.model, readsClaude: false, abilities });
  const output = askedOutput(call, abilities);
  const tools = abilities.tools ? [...call.tools, ...(output?.tool ? [output.tool] : [])] : [];
  const instructions = output?.system ?? call.system;
  const effort = abilities.thinking ? effortOf(call.thinkingTokens) : undefined;
  const dropped: LeftOut[] = [];
  const input = turns.flatMap((turn, at) => {
    if (turn.role === "user") return userItems(turn);
    return whole(turn.content, (why) => void dropped.push({ turn: at, block: "thinking", why }));
  });
  const body: JsonObject = {
    ...call.extra,
    model: name,
    input,
    ...(instructions !== "" && { instructions }),
    max_output_tokens: call.maxTokens,
    ...(tools.length > 0 && {
      tools: tools.map(({ name: tool, description, input_schema: parameters }) => ({
        type: "function",
        name: tool,
        description,
        parameters,
        strict: false,
      })),
    }),
    ...(call.toolChoice === "none" && tools.length > 0 && { tool_choice: "none" }),
    ...(!abilities.parallelTools && tools.length > 0 && { parallel_tool_calls: false }),
    ...(effort && { reasoning: { effort, summary: "auto" } }),
    ...(output?.schema && {
      text: {
        format: { type: "json_schema", name: output.name, schema: output.schema, strict: isStrict(output.schema) },
      },
    }),
    store: false,
    include: ["reasoning.encrypted_content"],
    // OpenAI caches automatically. `prompt_cache_key` makes a cache hit more likely.
    ...(abilities.caching && call.cache !== "off" && { prompt_cache_key: call.sessionId }),
    ...(abilities.caching && call.cache === "long" && { prompt_cache_retention: "24h" }),
    stream: true,
  };
  return { api: "responses", body, leftOut: [...leftOut, ...dropped] };
}

function userItems({ content }: Turn): readonly JsonObject[] {
  const blocks = blocksOf(content);
  const parts = blocks.filter(({ type }) => type !== "tool_result");
  return [
    ...blocks.filter(({ type }) => type === "tool_result").map(resultItem),
    ...(parts.length > 0 ? [{ role: "user", content: parts.map(inputPart) }] : []),
  ];
}

function resultItem(result: ContentBlock): JsonObject {
  const { content, tool_use_id: call_id } = result;
  const blocks = blocksOf((content ?? "") as string | ContentBlock[]);
  const isText = blocks.every(({ type }) => type === "text");
  const text = blocks.map(({ text: said }) => String(said)).join("\n");
  const output = isText ? (result["is_error"] === true ? errorText(text) : text) : blocks.map(inputPart);
  return { type: "function_call_output", call_id, output };
}

function inputPart(part: ContentBlock): JsonObject {
  switch (part.type) {
    case "image":
      return { type: "input_image", image_url: dataUrl(part), detail: "auto" };
    case "document": {
      const text = documentText(part);
      if (text !== undefined) return { type: "input_text", text };
      return { type: "input_file", filename: titleOf(part), file_data: dataUrl(part) };
    }
    default:
      return { type: "input_text", text: plainText(part) };
  }
}

/**
 * Returns the items of an answer. Leaves out reasoning at the end, because OpenAI accepts reasoning only with the item
 * that follows it.
 */
function whole(content: Turn["content"], leave: (why: string) => void): readonly JsonObject[] {
  const items = blocksOf(content).flatMap((block) => answerItem(block));
  return items.filter(({ type }, at) => {
    if (type !== "reasoning" || items.slice(at + 1).some((item) => item["type"] !== "reasoning")) return true;
    leave(
      "The answer broke off after this reasoning. The provider accepts reasoning only together with the item after it.",
    );
    return false;
  });
}

function answerItem(block: ContentBlock): readonly JsonObject[] {
  const own = carryOf(block)?.data;
  const item = isJsonObject(own) && isJsonObject(own["item"]) ? own["item"] : undefined;
  if (isToolUse(block)) {
    const { id: call_id, name, input } = block;
    return [
      item ? { ...item, call_id } : { type: "function_call", call_id, name, arguments: JSON.stringify(input ?? {}) },
    ];
  }
  if (item) return [item];
  if (block.type !== "text") return [];
  // An item of the type "message" needs an id from OpenAI. Answers of other models have no such id.
  return [{ role: "assistant", content: block["text"] }];
}
