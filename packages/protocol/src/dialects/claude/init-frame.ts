import type { JsonObject } from "../../content.ts";
import type { StreamEvent } from "./responses.ts";

type InitData = Extract<StreamEvent, { event: "init" }>["data"];

/**
 * Fields that are not copied. Some have another name in the Claude API, and the rest describes the server's machine.
 */
export const INIT_LEFT_OUT: readonly string[] = [
  "type",
  "subtype",
  "uuid",
  "session_id",
  "slash_commands",
  "permissionMode",
  "apiKeySource",
  "memory_paths",
  "messaging_socket_path",
];

/**
 * Makes the `init` frame from a runtime's report of its start. Lists of objects become lists of names. Other fields are
 * copied unchanged.
 */
export function initData(info: JsonObject, sessionId: string, model: string): InitData {
  const rest = Object.fromEntries(Object.entries(info).filter(([key]) => !INIT_LEFT_OUT.includes(key)));
  return {
    ...rest,
    session_id: sessionId,
    model: typeof info["model"] === "string" ? info["model"] : model,
    tools: names(info["tools"]),
    mcp_servers: mcpServerStatuses(list(info["mcp_servers"])),
    plugins: names(info["plugins"]),
    commands: names(info["slash_commands"] ?? info["commands"]),
    ...(typeof info["permissionMode"] === "string" && { permission_mode: info["permissionMode"] }),
  };
}

export function mcpServerStatuses(servers: readonly unknown[]): InitData["mcp_servers"] {
  return servers.flatMap((server) => serverStatus(server));
}

/** The Claude API has only the states `connected` and `failed`. The field `state` has the value of the SDK. */
function serverStatus(server: unknown): InitData["mcp_servers"] {
  const { name, status, error } = server as { name?: unknown; status?: unknown; error?: unknown };
  if (typeof name !== "string") return [];
  if (status === "connected") return [{ name, status: "connected", state: "connected" }];
  const why = typeof error === "string" ? error : `The MCP server ${name} is not connected: ${String(status)}.`;
  return [{ name, status: "failed", error: why, state: String(status) }];
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function names(value: unknown): string[] {
  return list(value).flatMap((item) => {
    const name = typeof item === "string" ? item : (item as { name?: unknown } | null)?.name;
    return typeof name === "string" ? [name] : [];
  });
}
