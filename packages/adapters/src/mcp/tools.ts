import { createHash } from "node:crypto";
import type { Tool as McpTool } from "@modelcontextprotocol/client";
import { type Tool, type ToolContext, defineTool } from "@skein/core";
import type { JsonObject } from "@skein/protocol";
import { z } from "zod";

const DESCRIPTION_LENGTH = 4000;
const SCHEMA_LENGTH = 64 * 1024;
const NAME_LENGTH = 128;

/** The usable tools of a server, and notices about the tools that are left out. */
export interface Taken {
  readonly tools: ReadonlyMap<string, { readonly definition: McpTool; readonly name: string; readonly hash: string }>;
  readonly notices: readonly string[];
}

/** Selects the usable tools of a server. The keys of the map are the server's names of the tools. */
export function takeTools(server: string, listed: readonly McpTool[], most: number): Taken {
  const tools = new Map<string, { definition: McpTool; name: string; hash: string }>();
  const names = new Set<string>();
  const notices: string[] = [];
  if (listed.length > most)
    notices.push(`The MCP server "${server}" lists ${listed.length} tools or more; the first ${most} are used.`);
  for (const definition of listed.slice(0, most)) {
    const name = `mcp__${server}__${definition.name.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`;
    const problem = problemWith(definition, name, names);
    if (problem === undefined) {
      names.add(name);
      tools.set(definition.name, { definition, name, hash: hashOf(definition) });
    } else
      notices.push(`The tool "${definition.name.slice(0, 100)}" of the MCP server "${server}" is left out: ${problem}`);
  }
  return { tools, notices };
}

function problemWith({ inputSchema }: McpTool, name: string, names: ReadonlySet<string>): string | undefined {
  if (name.length > NAME_LENGTH) return `its name has more than ${NAME_LENGTH} characters.`;
  if (names.has(name)) return "another one has the same name.";
  if (JSON.stringify(inputSchema).length > SCHEMA_LENGTH) return "its schema is too large.";
  return undefined;
}

/** Returns a hash of everything that the model sees of the tool. A person approved the tool with this hash. */
export function hashOf({ name, description, inputSchema, annotations }: McpTool): string {
  return createHash("sha256")
    .update(JSON.stringify([name, description, inputSchema, annotations]))
    .digest("hex");
}

export function asTool(
  { definition, name }: { readonly definition: McpTool; readonly name: string },
  call: (input: JsonObject, context: ToolContext) => Promise<unknown>,
  notices: readonly string[],
): Tool {
  const { description = "", inputSchema, annotations } = definition;
  const tool = defineTool({
    name,
    description: description.slice(0, DESCRIPTION_LENGTH).toWellFormed(),
    // The MCP server checks the input against its schema.
    input: z.looseObject({}),
    policy: annotations?.readOnlyHint === true || annotations?.idempotentHint === true ? "repeatable" : "once",
    run: (input, context) => call(input, context),
  });
  return { ...tool, inputSchema: { ...inputSchema, type: "object" }, notices };
}
