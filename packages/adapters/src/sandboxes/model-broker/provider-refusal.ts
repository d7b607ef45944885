/** Rules for the actions that a program may request from its model's provider. */
export interface ProviderRules {
  /** Returns true if the provider may fetch this image or document. Default: no address is allowed. */
  readonly allowsUrl?: ((url: string) => boolean) | undefined;
  /** Returns true if the operator's rules allow a tool of Claude Code. Default: every tool is allowed. */
  readonly allowsTool?: ((name: string) => boolean) | undefined;
}

/**
 * Matches the types of harmless tools. The provider does not run these tools, except the tool search, which only
 * searches the tools of the request.
 */
const HARMLESS = /^(?:custom$|bash_|text_editor_|computer_|memory_|tool_search_tool_)/;

/**
 * Returns why a request may not be forwarded, or undefined if it may. The provider can call MCP servers, fetch images
 * and documents, and run tools. Without this check, a program without a network could make connections through the
 * provider. Reasons: docs/decisions/170-bubblewrap-for-sessions.md.
 */
export function providerRefusal(
  { mcp_servers, tools, messages }: Readonly<Record<string, unknown>>,
  { allowsUrl, allowsTool }: ProviderRules,
): string | undefined {
  if (listOf(mcp_servers).length > 0) return "A session in a sandbox cannot have its provider call MCP servers.";
  for (const { type } of listOf(tools)) {
    if (typeof type !== "string" || HARMLESS.test(type)) continue;
    if (type.startsWith("web_search_") && (allowsTool?.("WebSearch") ?? true)) continue;
    return `A session in a sandbox cannot use the tool ${type.slice(0, 100)} of its provider.`;
  }
  const url = urlsIn(messages).find((each) => !allowsUrl?.(each));
  if (url === undefined) return undefined;
  return `A session in a sandbox cannot have its provider fetch ${url.slice(0, 200)}: the address is not in one of its prompts.`;
}

/** Returns the addresses of images and documents in messages, or in the content of a message. */
export function urlsIn(blocks: unknown): readonly string[] {
  return listOf(blocks).flatMap((block) => {
    const source = (block["source"] ?? {}) as Readonly<Record<string, unknown>>;
    const own = source["type"] === "url" && typeof source["url"] === "string" ? [source["url"]] : [];
    return [...own, ...urlsIn(block["content"]), ...urlsIn(source["content"])];
  });
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "object" && each !== null) : [];
}
