import type { Sandbox, SandboxLimits } from "@skein/core";
import type { GatePlaces } from "../../sandboxes/host-gate.ts";
import type { openMcpEdge } from "../../mcp/index.ts";
import type { ModelBroker } from "../../sandboxes/model-broker/index.ts";

/** What stands between Claude Code and the rest of the machine. */
export interface ClaudeWalls {
  readonly sandbox: Sandbox;
  /** The way to the model, so that the real key stays outside. */
  readonly broker: ModelBroker;
  readonly limits?: SandboxLimits;
  /** Hosts that every session may call: names, or `*.name` for all below one. */
  readonly hosts?: readonly string[];
  /** What may be called besides public addresses. */
  readonly places?: GatePlaces;
  /** Loads what talks to MCP servers on behalf of a process. Without it their credentials are given to the process. */
  readonly mcpEdge?: () => Promise<typeof openMcpEdge>;
}
