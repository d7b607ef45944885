/** The items of a request: earlier messages, calls and reasoning, in order. */
import { ApiError } from "../../api-error.ts";
import { isObject, type Block, type JsonObject, type Message } from "../../wire.ts";
import { missing, refused, wrongType, wrongValue } from "../../openai/errors.ts";
import { attachment, inputOf, listAt, objectAt, oneOfAt, stringAt } from "../../openai/fields.ts";
import { isSealBroken } from "./sealed-reasoning.ts";

const TYPES = ["message", "reasoning", "function_call", "function_call_output", "item_reference"];
const ROLES = ["assistant", "system", "developer", "user"] as const;
const CALL_ID = 64;

export interface Items {
  readonly system: readonly Block[];
  readonly messages: readonly Message[];
}

export function parseItems(input: unknown): Items {
  if (input === undefined) throw missing("input");
  if (typeof input === "string") return { system: [], messages: [{ role: "user", content: input }] };
  if (!Array.isArray(input)) throw wrongType("input", "one of a string or array of input items", input);
  const items = input.map((item, index) => objectAt(item, `input[${index}]`));
  const system: Block[] = [];
  const messages: { role: Message["role"]; content: Block[] }[] = [];
  // All output items of one answer become one message, because the simulator counts these messages to find the step of
  // the script.
  const add = (role: Message["role"], blocks: readonly Block[]): void => {
    const last = messages.at(-1);
    if (last?.role === role && role === "assistant") last.content.push(...blocks);
    else messages.push({ role, content: [...blocks] });
  };
  for (const [index, item] of items.entries()) {
    const where = `input[${index}]`;
    const type = item.type === undefined ? "message" : stringAt(item.type, `${where}.type`);
    switch (type) {
      case "message": {
        const role = oneOfAt(item.role, `${where}.role`, ROLES);
        const blocks = messageBlocks(item, role, where);
        if (role === "assistant" || role === "user") add(role, blocks);
        else if (messages.length === 0) system.push(...blocks);
        else add("system", blocks);
        break;
      }
      case "reasoning":
        checkFollowed(item, items[index + 1]);
        add("assistant", [reasoningBlock(item, where)]);
        break;
      case "function_call":
        add("assistant", [callBlock(item, where)]);
        break;
      case "function_call_output":
        checkCalled(item, items.slice(0, index), where);
        add("user", [resultBlock(item, where)]);
        break;
      case "item_reference":
        throw new ApiError(404, {
          message: `Item with id '${String(item.id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
          param: "input",
        });
      default:
        throw wrongValue(`${where}.type`, type, TYPES);
    }
  }
  checkAnswered(items);
  return { system, messages };
}

function messageBlocks({ content }: JsonObject, role: string, where: string): readonly Block[] {
  if (content === undefined) throw missing(`${where}.content`);
  if (typeof content === "string") return [{ type: "text", text: content }];
  return listAt(content, `${where}.content`).map((each, index) => {
    const at = `${where}.content[${index}]`;
    const part = objectAt(each, at);
    if (role !== "assistant") return inputPart(part, at);
    const type = oneOfAt(part.type, `${at}.type`, ["output_text", "refusal"]);
    return { type: "text", text: stringAt(part[type === "refusal" ? type : "text"], `${at}.text`) };
  });
}

/** A part of a user's message or of a tool's result. */
function inputPart(part: JsonObject, at: string): Block {
  switch (oneOfAt(part.type, `${at}.type`, ["input_text", "input_image", "input_file"])) {
    case "input_text":
      return { type: "text", text: stringAt(part.text, `${at}.text`) };
    case "input_image":
      return attachment(stringAt(part.image_url, `${at}.image_url`), "image", `${at}.image_url`);
    case "input_file": {
      const url = part.file_url === undefined ? part.file_data : part.file_url;
      return attachment(stringAt(url, `${at}.file_data`), "document", `${at}.file_data`);
    }
  }
}

function reasoningBlock(item: JsonObject, where: string): Block {
  stringAt(item.id, `${where}.id`);
  const summary = listAt(item.summary, `${where}.summary`).map((each, index) =>
    stringAt(objectAt(each, `${where}.summary[${index}]`).text, `${where}.summary[${index}].text`),
  );
  const sealed = item.encrypted_content;
  if (typeof sealed !== "string") {
    throw new ApiError(404, {
      message: `Item with id '${String(item.id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
      param: "input",
    });
  }
  if (isSealBroken(sealed, String(item.id)))
    throw refused(
      `The encrypted content for item ${String(item.id)} could not be verified.`,
      undefined,
      "invalid_encrypted_content",
    );
  return { type: "thinking", thinking: summary.join("\n"), signature: sealed };
}

function checkFollowed(item: JsonObject, next: JsonObject | undefined): void {
  const isAnswer =
    next !== undefined &&
    (next.type === "function_call" || next.type === "reasoning" || (isMessage(next) && next.role === "assistant"));
  if (isAnswer) return;
  throw refused(
    `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`,
    "input",
  );
}

function isMessage({ type }: JsonObject): boolean {
  return type === undefined || type === "message";
}

function callBlock(item: JsonObject, where: string): Block {
  const id = callId(item, where);
  const name = stringAt(item.name, `${where}.name`);
  const itemId = item.id === undefined ? undefined : stringAt(item.id, `${where}.id`);
  if (itemId !== undefined && !itemId.startsWith("fc_"))
    throw refused(`Invalid '${where}.id': '${itemId}'. Expected an ID that begins with 'fc'.`, `${where}.id`);
  return { type: "tool_use", id, name, input: inputOf(stringAt(item.arguments, `${where}.arguments`)) };
}

function callId(item: JsonObject, where: string): string {
  const id = stringAt(item.call_id, `${where}.call_id`);
  if (id.length >= 1 && id.length <= CALL_ID) return id;
  throw refused(
    `Invalid '${where}.call_id': string too long. Expected a string with maximum length ${CALL_ID}, but got a string with length ${id.length} instead.`,
    `${where}.call_id`,
    "string_above_max_length",
  );
}

function resultBlock(item: JsonObject, where: string): Block {
  const { output } = item;
  if (typeof output === "string") return { type: "tool_result", tool_use_id: item.call_id, content: output };
  const content = listAt(output, `${where}.output`).map((part, index) =>
    inputPart(objectAt(part, `${where}.output[${index}]`), `${where}.output[${index}]`),
  );
  return { type: "tool_result", tool_use_id: item.call_id, content };
}

function checkCalled(item: JsonObject, before: readonly JsonObject[], where: string): void {
  const id = callId(item, where);
  if (before.some((each) => each.type === "function_call" && each.call_id === id)) return;
  throw refused(`No tool call found for function call output with call_id ${id}.`, "input");
}

function checkAnswered(items: readonly JsonObject[]): void {
  const answered = new Set(items.filter(({ type }) => type === "function_call_output").map(({ call_id }) => call_id));
  const open = items.find((item) => isObject(item) && item.type === "function_call" && !answered.has(item.call_id));
  if (open) throw refused(`No tool output found for function call ${String(open.call_id)}.`, "input");
}
