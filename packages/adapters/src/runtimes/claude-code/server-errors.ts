import { setTimeout as delay } from "node:timers/promises";
import type { Query, SDKMessage } from "@anthropic-ai/claude-agent-sdk";

type Init = Extract<SDKMessage, { type: "system"; subtype: "init" }>;

/** How long the beginning of a run may wait for the reasons why MCP servers failed. */
const ASKED_MS = 2000;

/** Whether the message says that an MCP server failed. The message does not say why. */
export function hasFailedServers(message: SDKMessage): message is Init {
  return (
    message.type === "system" &&
    message.subtype === "init" &&
    message.mcp_servers.some(({ status }) => status === "failed")
  );
}

/** The message with the reason of each server that failed, as reported by the process. */
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
