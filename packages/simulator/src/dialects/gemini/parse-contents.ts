/** Parses the contents of a request. Matches function responses to the calls of the previous turn by their names. */
import { isObject, type Block, type JsonObject, type Message } from "../../wire.ts";
import { refused } from "./errors.ts";
import { isSignatureBroken } from "./thought-signature.ts";

const COUNTS_DIFFER =
  "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";

export function parseContents(value: unknown): readonly Message[] {
  if (!Array.isArray(value) || value.length === 0)
    throw refused("* GenerateContentRequest.contents: contents is not specified");
  let open: readonly Block[] = [];
  return (value as unknown[]).map((each, index): Message => {
    const { role, parts } = contentOf(each, `contents[${index}]`);
    if (role === "model") {
      if (open.length > 0) throw refused(COUNTS_DIFFER);
      const content = parts.flatMap((part, at) => modelBlock(part, `call_${index}_${at}`));
      open = content.filter(({ type }) => type === "tool_use");
      return { role: "assistant", content };
    }
    const content = userBlocks(parts, open, `contents[${index}]`);
    open = [];
    return { role: "user", content };
  });
}

/** The texts of a system instruction. */
export function textParts(value: unknown): readonly Block[] {
  const parts = isObject(value) ? partsOf(value.parts, "system_instruction") : [{ text: value }];
  return parts.map(({ text }) => {
    if (typeof text !== "string") throw refused("system_instruction: only text is supported");
    return { type: "text", text };
  });
}

function contentOf(value: unknown, where: string): { role: "user" | "model"; parts: readonly JsonObject[] } {
  if (!isObject(value)) throw refused(`Invalid value at '${where}', expected an object.`);
  const { role = "user" } = value;
  if (role !== "user" && role !== "model" && role !== "function")
    throw refused("Please use a valid role: user, model.");
  const parts = partsOf(value.parts, where);
  return { role: role === "model" ? "model" : "user", parts };
}

function partsOf(value: unknown, where: string): readonly JsonObject[] {
  if (!Array.isArray(value) || value.length === 0)
    throw refused(`* GenerateContentRequest.${where}.parts: contents.parts must not be empty.`);
  return (value as unknown[]).map((part, at) => {
    if (!isObject(part)) throw refused(`Invalid value at '${where}.parts[${at}]', expected an object.`);
    return part;
  });
}

function modelBlock(part: JsonObject, id: string): readonly Block[] {
  const { thoughtSignature, text } = part;
  if (thoughtSignature !== undefined && isSignatureBroken(thoughtSignature))
    throw refused("Corrupted thought signature.");
  if (typeof text === "string") {
    if (part.thought === true) return [{ type: "thinking", thinking: text, signature: "" }];
    return text === "" ? [] : [{ type: "text", text }];
  }
  const call = part.functionCall;
  if (!isObject(call))
    throw refused(
      "* GenerateContentRequest.contents.parts.data: required oneof field 'data' must have one initialized field",
    );
  return [{ type: "tool_use", id, name: call.name, input: call.args ?? {} }];
}

/** A function response belongs to the first open call with its name. */
function userBlocks(parts: readonly JsonObject[], open: readonly Block[], where: string): readonly Block[] {
  const results = parts.filter(({ functionResponse }) => functionResponse !== undefined);
  if (results.length !== open.length) throw refused(COUNTS_DIFFER);
  const left = [...open];
  return parts.map((part, at) => {
    const response = part.functionResponse;
    if (response === undefined) return userBlock(part, `${where}.parts[${at}]`);
    if (!isObject(response) || !isObject(response.response))
      throw refused(`Invalid value at '${where}.parts[${at}].function_response.response', expected an object.`);
    const place = left.findIndex(({ name }) => name === response.name);
    if (place < 0) throw refused(COUNTS_DIFFER);
    const [call] = left.splice(place, 1);
    return { type: "tool_result", tool_use_id: call?.id, content: resultContent(response, where) };
  });
}

function resultContent({ response, parts }: JsonObject, where: string): readonly Block[] {
  const { output, result, error, ...rest } = response as JsonObject;
  const said = output ?? result ?? error ?? rest;
  const text = { type: "text", text: typeof said === "string" ? said : JSON.stringify(said) };
  const images = Array.isArray(parts) ? partsOf(parts, where).map((part) => userBlock(part, where)) : [];
  return [text, ...images];
}

function userBlock(part: JsonObject, where: string): Block {
  if (typeof part.text === "string") return { type: "text", text: part.text };
  const data = part.inlineData;
  if (isObject(data)) {
    if (typeof data.mimeType !== "string" || typeof data.data !== "string")
      throw refused(`Invalid value at '${where}.inline_data', expected mimeType and data.`);
    const type = data.mimeType.startsWith("image/") ? "image" : "document";
    return { type, source: { type: "base64", media_type: data.mimeType, data: data.data } };
  }
  const file = part.fileData;
  if (isObject(file)) return { type: "document", source: { type: "url", url: file.fileUri } };
  throw refused(
    "* GenerateContentRequest.contents.parts.data: required oneof field 'data' must have one initialized field",
  );
}
