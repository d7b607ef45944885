/** The parts of a message that the Markdown export shows. */
import type { Message } from "../model/types.ts";
import { isKnownLineType } from "../sources/claude-code/format/known-line-types.ts";
import { agentTitles, isSourceName } from "../sources/port/source.ts";
import { isObject, objectOf, stringOf } from "../model/value.ts";

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  | { readonly kind: "tool-use"; readonly title: string; readonly text: string }
  | { readonly kind: "tool-result"; readonly title: string; readonly text: string; readonly isError: boolean }
  | { readonly kind: "other"; readonly title: string; readonly text: string };

export interface ShownMessage {
  readonly heading: string;
  readonly kind: "human" | "machine" | "assistant" | "system";
  readonly parts: readonly Part[];
}

/** Returns the heading and parts of a message, or undefined for a line that is not shown. */
export function shownMessage(message: Message): ShownMessage | undefined {
  if (message.role === "user") return shownUser(message);
  if (message.role === "assistant") {
    const parts = message.content.map(assistantPart).filter((part) => part.kind !== "thinking" || part.text !== "");
    return { heading: message.model === "" ? "Assistant" : `Assistant (${message.model})`, kind: "assistant", parts };
  }
  if (message.humanPrompt !== null) {
    return { heading: "User (while the model was working)", kind: "human", parts: [text(message.humanPrompt)] };
  }
  if (message.type === "summary") return { heading: "Summary", kind: "system", parts: [text(String(message.content))] };
  if (!isKnownLineType(message.type)) {
    const part: Part = {
      kind: "other",
      title: `Line ${message.lineNumber}`,
      text: JSON.stringify(message.raw, undefined, 2),
    };
    return { heading: unknownLine(message.type), kind: "system", parts: [part] };
  }
  if (message.type !== "system") return undefined;
  const subtype = stringOf(message.raw["subtype"]) ?? "system";
  if (subtype === "compact_boundary")
    return { heading: "The conversation was compacted here", kind: "system", parts: [] };
  if (typeof message.content !== "string" || message.content === "") return undefined;
  return { heading: `System (${subtype})`, kind: "system", parts: [text(message.content)] };
}

/**
 * Makes the heading of a line whose type has no special form. The type of another agent's record begins with its source.
 */
export function unknownLine(type: string): string {
  const [source, ...rest] = type.split(":");
  return source && isSourceName(source) && rest.length > 0
    ? `Other record of ${agentTitles[source]} (${rest.join(":")})`
    : `Unknown line (${type})`;
}

function shownUser(message: Extract<Message, { role: "user" }>): ShownMessage {
  const { content, humanPrompt } = message;
  if (humanPrompt !== null && typeof content === "string")
    return { heading: "User", kind: "human", parts: [text(humanPrompt)] };
  const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const parts = blocks.map((block): Part => {
    if (block.type === "text" && "text" in block) return text(String(block.text));
    if (block.type === "tool_result" && "toolUseId" in block) {
      const { content: output, isError } = block as { content: string; isError: boolean };
      return { kind: "tool-result", title: isError ? "Result (error)" : "Result", text: output, isError };
    }
    return otherPart(block);
  });
  const hasResult = parts.some((part) => part.kind === "tool-result");
  if (humanPrompt !== null) return { heading: "User", kind: "human", parts };
  return { heading: hasResult ? "Tool results" : "Machine", kind: "machine", parts };
}

function assistantPart(block: Readonly<Record<string, unknown>> | object): Part {
  const value = objectOf(block);
  if (value["type"] === "text") return text(stringOf(value["text"]) ?? "");
  if (value["type"] === "thinking") return { kind: "thinking", text: stringOf(value["thinking"]) ?? "" };
  if (value["type"] !== "tool_use") return otherPart(value);
  const input = objectOf(value["input"]);
  const subject = ["command", "file_path", "path", "pattern", "url", "query", "description"].find(
    (key) => typeof input[key] === "string",
  );
  const name = stringOf(value["name"]) ?? "tool";
  const title = subject === undefined ? name : `${name}: ${firstLine(String(input[subject]))}`;
  return { kind: "tool-use", title, text: JSON.stringify(input, undefined, 2) };
}

/** Shows an unknown block as JSON. Of an image or a document, shows only the type and the size. */
function otherPart(block: unknown): Part {
  const value = objectOf(block);
  const type = stringOf(value["type"]) ?? "content";
  if (type === "image" || type === "document") {
    const source = objectOf(value["source"]);
    const data = stringOf(source["data"]);
    const size = data === null ? "" : `, ${Math.round((data.length * 3) / 4 / 1024)} KB`;
    return { kind: "other", title: `${type} (${stringOf(source["media_type"]) ?? "unknown"}${size})`, text: "" };
  }
  return { kind: "other", title: type, text: isObject(block) ? JSON.stringify(block, undefined, 2) : String(block) };
}

function text(value: string): Part {
  return { kind: "text", text: value };
}

function firstLine(value: string): string {
  const line = value.split("\n", 1)[0] ?? "";
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}
