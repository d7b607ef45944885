/** The block types that this version of Skein knows. `checkFormat` reports other types as unknown. */
export const knownBlockTypes: ReadonlySet<string> = new Set([
  "text",
  "thinking",
  "redacted_thinking",
  "tool_use",
  "tool_result",
  "image",
  "document",
  "fallback",
  "server_tool_use",
  "web_search_tool_result",
  "web_fetch_tool_result",
  "tool_reference",
  "mcp_tool_use",
  "mcp_tool_result",
  "code_execution_tool_result",
  "search_result",
]);
