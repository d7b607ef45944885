/** The actions that a sandboxed program may request from the provider of its model. */
export interface ProviderRules {
  /** Whether the provider may fetch this address: an image or document of a prompt. Default: no address. */
  readonly allowsUrl?: ((url: string) => boolean) | undefined;
  /** Whether the operator's rules allow a tool of Claude Code. Default: every tool. */
  readonly allowsTool?: ((name: string) => boolean) | undefined;
}

/** Types of tools that the provider does not run, and the type of the provider's search in the tools of the request. */
const HARMLESS = /^(?:custom$|bash_|text_editor_|computer_|memory_|tool_search_tool_)/;

/**
 * Why a request may not be forwarded, as a sentence; undefined if it may. A program without a network could otherwise
 * have the provider make connections for it: to MCP servers, to addresses of images and documents, by tools that the
 * provider runs. Reasons: decision 170.
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

/** The addresses of images and documents in messages or in the content of a message. */
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
