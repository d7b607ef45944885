/**
 * Reads messages of opencode before version 0.3, which contain their parts. Before version 0.2, all other fields were
 * in `metadata`, and a call and its result were one part. opencode converts these files too, and the result here has
 * the fields of that conversion.
 */
import { arrayOf, objectOf, stringOf, type Value } from "../../model/value.ts";
import { UNCOUNTED_END, type Part } from "./messages.ts";

/** Returns the parts in the file of a message, or undefined if each part has a separate file. */
export function inlineParts(id: string, message: Value): readonly Part[] | undefined {
  if (!Array.isArray(message["parts"])) return undefined;
  const tools = objectOf(objectOf(message["metadata"])["tool"]);
  const isOldest = message["metadata"] !== undefined;
  return arrayOf(message["parts"]).map((part, at) => {
    const data = partOf(objectOf(part), tools);
    // A step begins after the results of the previous step.
    const isNextStep = isOldest && at > 0 && data["type"] === "step-start";
    return { id: `${id}/${at}`, data: isNextStep ? { type: UNCOUNTED_END } : data };
  });
}

function partOf(part: Value, tools: Value): Value {
  if (part["type"] === "file") return { mime: part["mediaType"], ...part };
  if (part["type"] !== "tool-invocation") return part;
  const { toolCallId, toolName, state, args, result } = objectOf(part["toolInvocation"]);
  const { title, time, ...metadata } = objectOf(tools[stringOf(toolCallId) ?? ""]);
  const status = state === "result" ? "completed" : "running";
  const output = stringOf(result) ?? JSON.stringify(result);
  return {
    type: "tool",
    callID: toolCallId,
    tool: toolName,
    state: { status, input: args, output, title, time, metadata },
  };
}

/** Moves the fields of `metadata` to the places where newer versions write them. */
export function withoutMetadata(message: Value): Value {
  if (message["metadata"] === undefined) return message;
  const metadata = objectOf(message["metadata"]);
  const { role } = message;
  const { time, error } = metadata;
  return { role, time, ...objectOf(metadata["assistant"]), ...(error !== undefined && { error }) };
}
