import {
  type Content,
  type ContentBlock,
  type JsonObject,
  type MessageRow,
  blocksOf,
  partId,
  textOf,
} from "@skein/protocol";

/** A row of a message in the platform API, before the row has a number. */
export interface RowPart {
  readonly id: string;
  readonly messageId: string;
  readonly part: number;
  readonly role: MessageRow["role"];
  readonly content: JsonObject;
  readonly toolCallId: string | null;
}

/** Returns the rows of a message: a row for all its text, and a row for each tool call and each result. */
export function rowsOf(messageId: string, role: "user" | "assistant" | "system", content: Content): readonly RowPart[] {
  const rows = blocksOf(content).flatMap(rowOfBlock);
  const text = textOf(content);
  const withText = text === "" && rows.length > 0 ? rows : [{ role, content: { text }, toolCallId: null }, ...rows];
  return withText.map((row, part) => ({ ...row, id: partId(messageId, part), messageId, part }));
}

/** Makes the row of a tool result. Exactly one of `result` and `error` is set. */
export function resultRow(result: {
  readonly messageId: string;
  readonly part: number;
  readonly toolUseId: string;
  readonly content: unknown;
  readonly isError: boolean;
}): RowPart {
  const { messageId, part, toolUseId, content, isError } = result;
  return {
    id: partId(messageId, part),
    messageId,
    part,
    role: "tool_result",
    content: outcomeOf(content, isError),
    toolCallId: toolUseId,
  };
}

function outcomeOf(content: unknown, isError: boolean): JsonObject {
  return isError ? { result: null, error: content } : { result: valueOf(content), error: null };
}

/**
 * Parses a text that is exactly the JSON of an object or a list. Other content is returned unchanged. The text can be
 * restored from the value.
 */
function valueOf(content: unknown): unknown {
  if (typeof content !== "string" || !/^[{[]/.test(content)) return content;
  try {
    const value: unknown = JSON.parse(content);
    return JSON.stringify(value) === content ? value : content;
  } catch {
    return content;
  }
}

type Row = Pick<RowPart, "role" | "content" | "toolCallId">;

function rowOfBlock(block: ContentBlock): readonly Row[] {
  if (block.type === "tool_use" || block.type === "server_tool_use") {
    const id = String(block["id"]);
    return [{ role: "tool_call", content: { id, name: block["name"], arguments: block["input"] }, toolCallId: id }];
  }
  // Each server tool has its own result type: web_search_tool_result, bash_code_execution_tool_result …
  if (block.type.endsWith("tool_result")) {
    return [
      {
        role: "tool_result",
        content: outcomeOf(block["content"] ?? null, block["is_error"] === true),
        toolCallId: String(block["tool_use_id"]),
      },
    ];
  }
  return [];
}
