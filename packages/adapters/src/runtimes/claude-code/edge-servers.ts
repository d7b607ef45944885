import type { Options } from "@anthropic-ai/claude-agent-sdk";
import type { McpEdge, McpPlace } from "../../mcp/index.ts";
import { createGuardedFetch } from "../../tools/guarded-fetch.ts";
import type { ClaudeWalls } from "./claude-walls.ts";
import type { OwnServer } from "./options.ts";

type Servers = NonNullable<Options["mcpServers"]>;

/** The MCP servers for a process in a sandbox. */
export interface EdgeServers {
  readonly servers: Servers;
  close(): void;
}

/**
 * Keeps the credentials of MCP servers out of the sandbox. This process connects to servers with an address, starts
 * commands with an environment, and passes the messages of both to Claude Code. A command without an environment has no
 * secret, so it runs in the sandbox. Reasons: decision 178 in docs/decisions.
 */
export async function edgeServers(
  servers: Servers,
  own: Readonly<Record<string, OwnServer>>,
  walls: ClaudeWalls,
): Promise<EdgeServers> {
  const edges: McpEdge[] = [];
  const made: Servers = {};
  for (const [name, server] of Object.entries(servers)) {
    const place = placeOf(server, own[name], walls);
    if (!place || !walls.mcpEdge) {
      made[name] = server;
      continue;
    }
    const edge = (await walls.mcpEdge())(name, place);
    edges.push(edge);
    // The SDK expects another type here, but only calls `connect`.
    made[name] = { type: "sdk", name, instance: edge as never };
  }
  return { servers: made, close: () => void Promise.all(edges.map((edge) => edge.close())) };
}

function placeOf(
  server: Servers[string],
  own: OwnServer | undefined,
  { sandbox, limits, places }: ClaudeWalls,
): McpPlace | undefined {
  switch (server.type) {
    case "http":
    case "sse": {
      const { url, headers = {} } = server;
      // The operator's servers may be at any address. Servers of a request may only be at addresses that requests may
      // use.
      const allowed = own ? { allowsAddress: () => true, allowsPort: () => true } : places;
      return { url, headers, sse: server.type === "sse", fetch: createGuardedFetch(allowed ?? {}) };
    }
    case "sdk":
      return undefined;
    default: {
      const { command, args = [], env = {} } = server;
      if (Object.keys(env).length === 0) return undefined;
      return {
        command,
        args,
        env,
        reads: own?.reads ?? [],
        hosts: own?.hosts ?? [],
        within: { sandbox, limits, places },
      };
    }
  }
}
