import { setTimeout as delay } from "node:timers/promises";
import type { Query, SDKMessage } from "@anthropic-ai/claude-agent-sdk";

type Init = Extract<SDKMessage, { type: "system"; subtype: "init" }>;

/** The beginning of a run waits at most this long for the errors of failed MCP servers. */
const ASKED_MS = 2000;

/** Returns true if the message reports a failed MCP server. The message does not contain the reason. */
export function hasFailedServers(message: SDKMessage): message is Init {
  return (
    message.type === "system" &&
    message.subtype === "init" &&
    message.mcp_servers.some(({ status }) => status === "failed")
  );
}

/** Asks the process of Claude Code why MCP servers failed, and adds the reasons to the message. */
export async function withServerErrors(message: Init, query: Pick<Query, "mcpServerStatus">): Promise<SDKMessage> {
  const asked = query.mcpServerStatus().catch(() => []);
  const known = (await Promise.race([asked, delay(ASKED_MS, undefined, { ref: false })])) ?? [];
  const errors = new Map(known.map(({ name, error }) => [name, error]));
  const servers = message.mcp_servers.map((server) => {
    const error = errors.get(server.name);
    return error ? { ...server, error: `The MCP server ${server.name} failed: ${error}` } : server;
  });
  return { ...message, mcp_servers: servers };
}
