import { humanPrompt } from "../format/human-prompt.ts";
import { arrayOf, isObject, objectOf, stringOf, type Value } from "../../../model/value.ts";
import { resultText } from "../transcript/to-message.ts";

/** A piece of text of a line, and its kind. */
export interface LineText {
  readonly kind: "prompt" | "text" | "thinking" | "tool_use" | "tool_result" | "other";
  readonly text: string;
  readonly toolName: string | undefined;
}

/** The type under which a search reports a line that is not a valid record. */
export const damagedLine = "damaged";

/**
 * The searchable text of a line: prompts, answers, thinking, tool calls and results, without ids, signatures and
 * images.
 */
export function textsOf(line: Value): readonly LineText[] {
  const { type } = line;
  if (type === damagedLine) return [other(stringOf(line["text"]) ?? "")];
  if (type === "user" || type === "assistant") {
    const { content } = objectOf(line["message"]);
    const isPrompt = type === "user" && humanPrompt(line) !== undefined;
    if (typeof content === "string")
      return [{ kind: isPrompt ? "prompt" : "text", text: content, toolName: undefined }];
    return arrayOf(content).map((block) => blockText(objectOf(block), isPrompt));
  }
  if (type === "attachment") {
    const prompt = humanPrompt(line);
    if (prompt !== undefined) return [{ kind: "prompt", text: prompt, toolName: undefined }];
    if (prepared.has(stringOf(objectOf(line["attachment"])["type"]) ?? "")) return [];
    return [other(stringsIn(line["attachment"]))];
  }
  if (type === "progress") return [other(stringsIn(line["data"]))];
  if (type === "system" || type === "queue-operation") return [other(stringsIn(line["content"]))];
  if (typeof type === "string" && isUnsearched(type)) return [];
  if (isTitle(type)) return [other(stringOf(line[type === "summary" ? "summary" : "customTitle"]) ?? "")];
  const { type: _type, sessionId: _session, timestamp: _time, from: _from, ...rest } = line;
  return [other(stringsIn(rest))];
}

/** Returns true if a line of this type contains the title of the session. Such a line is not a message. */
export function isTitle(type: unknown): boolean {
  return type === "custom-title" || type === "summary";
}

/**
 * Returns true if a search leaves out lines of this type. Claude Code repeats some of them after every turn, and they
 * would fill the results. Others only say where the session is.
 */
export function isUnsearched(type: string): boolean {
  return unsearched.has(type);
}

const unsearched: ReadonlySet<string> = new Set([
  "last-prompt",
  "ai-title",
  "permission-mode",
  "mode",
  "agent-name",
  "agent-setting",
  "agent-color",
  "file-history-snapshot",
  "file-history-delta",
  "cost-state",
  "bridge-session",
  "relocated",
  "worktree-state",
]);

/** Types of attachments with the system prompt and the tools of a request. A search leaves them out. */
const prepared: ReadonlySet<string> = new Set(["prompt_snapshot", "prompt_render_point", "deferred_tools_record"]);

function blockText(block: Value, isPrompt: boolean): LineText {
  const { type } = block;
  if (type === "text")
    return { kind: isPrompt ? "prompt" : "text", text: stringOf(block["text"]) ?? "", toolName: undefined };
  if (type === "thinking") return { kind: "thinking", text: stringOf(block["thinking"]) ?? "", toolName: undefined };
  if (type === "tool_result") return { kind: "tool_result", text: resultText(block["content"]), toolName: undefined };
  if (type === "tool_use") {
    const toolName = stringOf(block["name"]) ?? "";
    return { kind: "tool_use", text: `${toolName}\n${stringsIn(block["input"])}`, toolName };
  }
  return other(stringsIn(block));
}

function other(text: string): LineText {
  return { kind: "other", text, toolName: undefined };
}

const noText: ReadonlySet<string> = new Set(["signature", "data", "uuid", "parentUuid", "id", "type", "media_type"]);

/** Returns the searchable values of an object or a list. Each value is on a separate line, after its key. */
function stringsIn(value: unknown, depth = 0): string {
  if (typeof value === "string") return value;
  if (depth > 8) return "";
  if (Array.isArray(value))
    return value
      .map((item) => stringsIn(item, depth + 1))
      .filter(Boolean)
      .join("\n");
  if (!isObject(value)) return typeof value === "number" || typeof value === "boolean" ? String(value) : "";
  return Object.entries(value)
    .map(([key, item]) => {
      const text = noText.has(key) ? "" : stringsIn(item, depth + 1);
      return text === "" ? "" : `${key}: ${text}`;
    })
    .filter(Boolean)
    .join("\n");
}
