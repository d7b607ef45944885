/** Translates items of OpenAI's Responses API into blocks. */
import { arrayOf, isObject, numberOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import type { Block } from "../port/transcript-writer.ts";

/** The beginnings of texts that Codex wrote and sent with the user role. */
const machineText =
  /^\s*(<(environment_context|user_instructions|permissions instructions|turn_aborted|skill|collaboration_mode|subagent_notification|agent_message_board_notification|user_shell_command|extension_context|goal_context|codex_internal_context|hook_prompt|recommended_plugins)\b|# AGENTS\.md)/i;

/** Returns the blocks of a message with the user role. Since 2026, each part says whether a person wrote it. */
export function userBlocks(item: Value): {
  readonly content: string | readonly Block[];
  readonly isMeta: boolean;
} {
  const { content } = item;
  if (typeof content === "string") return { content, isMeta: machineText.test(content) };
  const blocks = arrayOf(content).map(objectOf).map(partOf);
  const kinds = arrayOf(objectOf(item["internal_chat_message_metadata_passthrough"])["content_item_kinds"]);
  const isMachine = ({ text }: Block, at: number): boolean => {
    const kind = stringOf(kinds[at]);
    return kind ? !/^(user\.|unknown$)/.test(kind) : typeof text === "string" && machineText.test(text);
  };
  const [first] = blocks;
  const isMeta = blocks.length > 0 && blocks.every(isMachine);
  return { content: blocks.length === 1 && typeof first?.["text"] === "string" ? first["text"] : blocks, isMeta };
}

function partOf(part: Value): Block {
  const text = stringOf(part["text"]);
  if (text !== null) return { type: "text", text };
  const url = stringOf(part["image_url"]);
  if (part["type"] === "input_image" && url !== null) return imageOf(url);
  return part;
}

/** Returns an image block: with the data of a `data:` address, or with any other address as a URL. */
export function imageOf(url: string): Block {
  const [, type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  const source = data === undefined ? { type: "url", url } : { type: "base64", media_type: type, data };
  return { type: "image", source };
}

/** Returns the block of an item from the model, and undefined for other items. */
export function blockOf(item: Value, from: string): Block | undefined {
  const type = stringOf(item["type"]);
  const id = stringOf(item["call_id"]) ?? stringOf(item["id"]) ?? from;
  switch (type) {
    case "message": {
      if (item["role"] !== "assistant") return undefined;
      return { type: "text", text: textOf(item["content"]) };
    }
    case "reasoning": {
      const thinking = textOf(item["summary"]) || textOf(item["content"]);
      return thinking === "" ? undefined : { type: "thinking", thinking };
    }
    case "function_call": {
      const namespace = stringOf(item["namespace"]);
      const name = stringOf(item["name"]) ?? "unknown";
      return {
        type: "tool_use",
        id,
        name: namespace ? `${namespace}.${name}` : name,
        input: inputOf(item["arguments"]),
      };
    }
    case "custom_tool_call":
      return { type: "tool_use", id, name: stringOf(item["name"]) ?? "unknown", input: { input: item["input"] } };
    case "local_shell_call":
      return { type: "tool_use", id, name: "local_shell", input: objectOf(item["action"]) };
    case "tool_search_call":
      return { type: "tool_use", id, name: "tool_search", input: objectOf(item["arguments"]) };
    case "web_search_call":
      return { type: "tool_use", id, name: "web_search", input: objectOf(item["action"]) };
    default:
      return undefined;
  }
}

/** Returns the text of a message between two agents. The text is empty if the message is encrypted. */
export function agentText(item: Value): string {
  return textOf(item["content"]);
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return arrayOf(content)
    .flatMap((part) => stringOf(objectOf(part)["text"]) ?? [])
    .join("\n");
}

/** Returns the arguments of a call, which Codex stores as JSON in a string. An object is returned unchanged. */
export function inputOf(text: unknown): object {
  if (isObject(text)) return text;
  if (typeof text !== "string") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : { arguments: value };
  } catch {
    return { arguments: text };
  }
}

interface Output {
  readonly content: unknown;
  readonly isError: boolean;
  readonly details?: unknown;
}

/** Returns the result of a call. Until 2025, a text could be JSON with the real text and the exit code. */
export function outputOf(output: unknown): Output {
  if (Array.isArray(output)) return { content: output.map(objectOf).map(partOf), isError: false };
  if (isObject(output)) return { content: stringOf(output["content"]) ?? output, isError: output["success"] === false };
  const text = typeof output === "string" ? output : "";
  if (!text.startsWith('{"output":')) return { content: text, isError: false };
  const { output: inner, metadata } = objectOf(inputOf(text)) as { output?: unknown; metadata?: unknown };
  if (typeof inner !== "string") return { content: text, isError: false };
  return { content: inner, isError: (numberOf(objectOf(metadata)["exit_code"]) ?? 0) !== 0, details: metadata };
}
