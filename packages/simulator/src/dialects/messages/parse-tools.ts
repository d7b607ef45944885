import { invalid } from "../../api-error.ts";
import { isObject, type MessagesRequest, type Tool } from "../../wire.ts";

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

export function parseTools(value: unknown): readonly Tool[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalid("tools", "Input should be a valid list");
  const names = new Set<string>();
  for (const [index, tool] of (value as unknown[]).entries()) {
    checkTool(tool, `tools.${index}`);
    const { name } = tool as Tool;
    // Toolsets do not have a name.
    if (name === undefined) continue;
    if (names.has(name)) throw invalid("tools", "Tool names must be unique.");
    names.add(name);
  }
  return value as Tool[];
}

export function parseToolChoice(value: unknown, tools: readonly Tool[]): MessagesRequest["toolChoice"] {
  if (value === undefined || value === null) return { type: "auto" };
  if (!isObject(value) || typeof value.type !== "string") throw invalid("tool_choice.type", "Field required");
  if (!["auto", "any", "tool", "none"].includes(value.type)) {
    throw invalid(
      "tool_choice",
      `Input tag '${value.type}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'`,
    );
  }
  if (tools.length === 0 && value.type !== "none") {
    throw invalid("tool_choice", "tool_choice may only be specified while providing tools");
  }
  if (value.type !== "tool") return { type: value.type };
  if (typeof value.name !== "string") throw invalid("tool_choice.tool.name", "Field required");
  if (!tools.some((tool) => tool.name === value.name)) {
    throw invalid("", `Tool '${value.name}' not found in provided tools`);
  }
  return { type: "tool", name: value.name };
}

function checkTool(tool: unknown, where: string): void {
  if (!isObject(tool)) throw invalid(where, "Input should be a valid dictionary");
  if (tool.type !== undefined && tool.type !== null && tool.type !== "custom") return;
  if (typeof tool.name !== "string") throw invalid(`${where}.custom.name`, "Field required");
  if (!NAME.test(tool.name)) throw invalid(`${where}.custom.name`, `String should match pattern '${NAME.source}'`);
  if (!isObject(tool.input_schema)) throw invalid(`${where}.custom.input_schema`, "Field required");
  if (tool.input_schema.type === undefined) throw invalid(`${where}.custom.input_schema.type`, "Field required");
  if (tool.input_schema.type !== "object") {
    throw invalid(`${where}.custom.input_schema.type`, "Input should be 'object'");
  }
  if (["oneOf", "allOf", "anyOf"].some((key) => key in (tool.input_schema as object))) {
    throw invalid(
      `${where}.custom.input_schema`,
      "input_schema does not support oneOf, allOf, or anyOf at the top level",
    );
  }
}
