import type { Sandbox, SandboxLimits } from "@skein/core";
import type { ModelBroker } from "../../sandboxes/model-broker/index.ts";

/** What stands between Claude Code and the rest of the machine. */
export interface ClaudeWalls {
  readonly sandbox: Sandbox;
  /** The way to the model, so that the real key stays outside. */
  readonly broker: ModelBroker;
  readonly limits?: SandboxLimits;
}
