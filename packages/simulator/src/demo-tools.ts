/** Chooses the offered tools that a prompt is about, and their inputs. */
import { inputFor, sampleOf } from "./demo-input.ts";
import type { ToolCall } from "./script.ts";
import { isObject, type JsonObject, type MessagesRequest, type Tool } from "./wire.ts";

/** Words in tool names that do not describe a topic. */
const EMPTY_WORDS = new Set([
  "get",
  "set",
  "list",
  "create",
  "make",
  "do",
  "run",
  "the",
  "tool",
  "use",
  "fetch",
  "mcp",
  "find",
  "add",
]);
const MAXIMUM_CALLS = 4;

export function chooseTools({ tools, toolChoice }: MessagesRequest, prompt: string): readonly ToolCall[] {
  const own = tools.filter((tool) => isObject(tool.input_schema));
  if (toolChoice.type === "none") return [];
  if (toolChoice.type === "tool")
    return own.filter((tool) => tool.name === toolChoice.name).map((tool) => sample(tool, prompt));

  const named = own.filter((tool) => isNamed(tool.name, prompt)).slice(0, MAXIMUM_CALLS);
  if (named.length > 0) return named.map((tool) => sample(tool, prompt));

  const fitting = own.filter((tool) => isAbout(tool.name, prompt));
  for (const tool of fitting) {
    const input = inputFor(schemaOf(tool), prompt);
    if (input) return [{ name: tool.name, input }];
  }
  return toolChoice.type === "any" ? own.slice(0, 1).map((tool) => sample(tool, prompt)) : [];
}

function sample(tool: Tool, prompt: string): ToolCall {
  const schema = schemaOf(tool);
  return {
    name: tool.name,
    input: inputFor(schema, prompt) ?? (sampleOf(schema, { prompt, results: [] }) as JsonObject),
  };
}

function schemaOf(tool: Tool): JsonObject {
  return tool.input_schema ?? {};
}

/** Whether the prompt asks for the tool by its name, such as `use the Read tool` or `call get_weather`. */
function isNamed(name: string, prompt: string): boolean {
  const escaped = name.replaceAll(/[-_]/g, "[-_ ]");
  // A name that cannot be an ordinary word (`get_weather`, `getWeather`) is enough without "use" or "call".
  const alone = /[_-]|[a-z][A-Z]/.test(name) && new RegExp(`\\b${escaped}\\b`, "i").test(prompt);
  return (
    alone ||
    new RegExp(`\\b(use|using|call|with|via|and)( the| your)? [\`"']?${escaped}\\b[\`"']?( tool)?`, "i").test(prompt)
  );
}

function isAbout(name: string, prompt: string): boolean {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const telling = words.filter((word) => word.length > 2 && !EMPTY_WORDS.has(word));
  const said = prompt.toLowerCase();
  return telling.some((word) => new RegExp(`\\b${word}(s|es|ing)?\\b`).test(said));
}
