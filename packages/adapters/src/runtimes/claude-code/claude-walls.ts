import type { Sandbox, SandboxLimits } from "@skein/core";
import type { GatePlaces } from "../../sandboxes/host-gate.ts";
import type { openMcpEdge } from "../../mcp/index.ts";
import type { ModelBroker } from "../../sandboxes/model-broker/index.ts";

/** The sandbox of Claude Code, and its allowed connections. */
export interface ClaudeWalls {
  readonly sandbox: Sandbox;
  /** The proxy through which the process calls the model. The real API key stays outside of the sandbox. */
  readonly broker: ModelBroker;
  readonly limits?: SandboxLimits;
  /** Hosts that every session may call. `*.name` allows all subdomains. */
  readonly hosts?: readonly string[];
  /** Addresses that sessions may call, besides public addresses. */
  readonly places?: GatePlaces;
  /**
   * Loads the code that connects a process with MCP servers. Without this code, the process gets the credentials of the
   * servers.
   */
  readonly mcpEdge?: () => Promise<typeof openMcpEdge>;
}
