/** Parses the messages of a chat. Checks their shapes, and that the result of every call follows the call. */
import type { Block, JsonObject, Message } from "../../wire.ts";
import { missing, refused, wrongType } from "../../openai/errors.ts";
import { attachment, inputOf, listAt, objectAt, oneOfAt, stringAt } from "../../openai/fields.ts";

const ROLES = ["system", "assistant", "user", "tool", "developer"] as const;
/** The fields in which servers send reasoning and expect it back. */
const REASONING = ["reasoning_content", "reasoning", "reasoning_text"];

export interface Chat {
  readonly system: readonly Block[] | "";
  readonly messages: readonly Message[];
}

export function parseChatMessages(value: readonly unknown[]): Chat {
  if (value.length === 0) {
    const message =
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
    throw refused(message, "messages", "empty_array");
  }
  const system: Block[] = [];
  const messages: Message[] = [];
  let open: string[] = [];
  for (const [index, each] of value.entries()) {
    const where = `messages[${index}]`;
    const message = objectAt(each, where);
    const role = oneOfAt(message.role, `${where}.role`, ROLES);
    if (role !== "tool") checkAnswered(open, where);
    switch (role) {
      case "system":
      case "developer":
        if (messages.length === 0) system.push(...textParts(message.content, where));
        else messages.push({ role: "system", content: textParts(message.content, where) });
        break;
      case "user":
        messages.push({ role: "user", content: userParts(message.content, where) });
        break;
      case "assistant": {
        const content = assistantBlocks(message, where);
        open = content.flatMap((block) => (block.type === "tool_use" ? [String(block.id)] : []));
        messages.push({ role: "assistant", content });
        break;
      }
      case "tool": {
        const id = stringAt(message.tool_call_id, `${where}.tool_call_id`);
        if (!open.includes(id)) {
          throw refused(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
            `${where}.role`,
          );
        }
        open = open.filter((call) => call !== id);
        const content = [{ type: "tool_result", tool_use_id: id, content: textParts(message.content, where) }];
        messages.push({ role: "user", content });
      }
    }
  }
  checkAnswered(open, "messages");
  return { system: system.length > 0 ? system : "", messages };
}

function checkAnswered(open: readonly string[], where: string): void {
  if (open.length === 0) return;
  throw refused(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`,
    `${where}.role`,
  );
}

/** Parses content that may only be text. */
function textParts(content: unknown, where: string): readonly Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return partsOf(content, where).map((part, index) => {
    oneOfAt(part.type, `${where}.content[${index}].type`, ["text"]);
    return { type: "text", text: stringAt(part.text, `${where}.content[${index}].text`) };
  });
}

function userParts(content: unknown, where: string): readonly Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return partsOf(content, where).map((part, index) => {
    const at = `${where}.content[${index}]`;
    switch (oneOfAt(part.type, `${at}.type`, ["text", "image_url", "file"])) {
      case "text":
        return { type: "text", text: stringAt(part.text, `${at}.text`) };
      case "image_url": {
        const url = stringAt(objectAt(part.image_url, `${at}.image_url`).url, `${at}.image_url.url`);
        return attachment(url, "image", `${at}.image_url.url`);
      }
      case "file": {
        const data = stringAt(objectAt(part.file, `${at}.file`).file_data, `${at}.file.file_data`);
        return attachment(data, "document", `${at}.file.file_data`);
      }
    }
  });
}

function partsOf(content: unknown, where: string): readonly JsonObject[] {
  if (content === undefined) throw missing(`${where}.content`);
  if (!Array.isArray(content)) throw wrongType(`${where}.content`, "one of a string or array of objects", content);
  if (content.length === 0)
    throw refused(`Invalid '${where}.content': empty array.`, `${where}.content`, "empty_array");
  return content.map((part, index) => objectAt(part, `${where}.content[${index}]`));
}

function assistantBlocks(message: JsonObject, where: string): readonly Block[] {
  const blocks: Block[] = [];
  for (const key of REASONING) {
    if (message[key] === undefined || message[key] === null) continue;
    blocks.push({ type: "thinking", thinking: stringAt(message[key], `${where}.${key}`), signature: "" });
  }
  if (message.reasoning_details !== undefined) {
    for (const detail of listAt(message.reasoning_details, `${where}.reasoning_details`))
      blocks.push({ type: "thinking", thinking: JSON.stringify(detail), signature: "" });
  }
  const { content } = message;
  const isAbsent = content === undefined || content === null || content === "";
  if (!isAbsent) blocks.push(...textParts(content, where).filter(({ text }) => text !== ""));
  const calls = message.tool_calls;
  if (calls === undefined || calls === null) {
    if (content === null || content === undefined)
      throw wrongType(`${where}.content`, "one of a string or array of objects", null);
    return blocks;
  }
  const list = listAt(calls, `${where}.tool_calls`);
  if (list.length === 0)
    throw refused(`Invalid '${where}.tool_calls': empty array.`, `${where}.tool_calls`, "empty_array");
  return [...blocks, ...list.map((call, index) => callBlock(call, `${where}.tool_calls[${index}]`))];
}

function callBlock(value: unknown, where: string): Block {
  const call = objectAt(value, where);
  oneOfAt(call.type, `${where}.type`, ["function"]);
  const id = stringAt(call.id, `${where}.id`);
  if (id.length > 64 || id === "") {
    const message = `Invalid '${where}.id': string too long. Expected a string with maximum length 64, but got a string with length ${id.length} instead.`;
    throw refused(message, `${where}.id`, "string_above_max_length");
  }
  const named = objectAt(call.function, `${where}.function`);
  const name = stringAt(named.name, `${where}.function.name`);
  return { type: "tool_use", id, name, input: inputOf(stringAt(named.arguments, `${where}.function.arguments`)) };
}
