import type { Sandbox, SandboxLimits } from "@skein/core";
import type { GatePlaces } from "../../sandboxes/host-gate.ts";
import type { openMcpEdge } from "../../mcp/index.ts";
import type { ModelBroker } from "../../sandboxes/model-broker/index.ts";

/** The sandbox of Claude Code, and the connections that it may make. */
export interface ClaudeWalls {
  readonly sandbox: Sandbox;
  /** The broker, through which the process reaches the model: the real key stays outside of the sandbox. */
  readonly broker: ModelBroker;
  readonly limits?: SandboxLimits;
  /** Hosts that every session may call: names, or `*.name` for all subdomains. */
  readonly hosts?: readonly string[];
  /** Addresses that may be called besides public ones. */
  readonly places?: GatePlaces;
  /** Loads the code that talks to MCP servers on behalf of a process. Without it the process gets their credentials. */
  readonly mcpEdge?: () => Promise<typeof openMcpEdge>;
}
