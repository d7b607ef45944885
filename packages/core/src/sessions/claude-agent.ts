import { AgentConfig, ClaudeOptions } from "@skein/protocol";
import type { SessionAgent } from "./agents.ts";
import { derivedId } from "./derived-id.ts";

const NAME = "Claude Code";

/**
 * The built-in agent that sessions of Claude Code belong to, with the options of one session. Its id is the same
 * everywhere.
 */
export function claudeAgent(options: ClaudeOptions): SessionAgent {
  const config = AgentConfig.parse({
    name: NAME,
    runtime: "claude-code",
    // The SDK's own word for its default model.
    model: options.model ?? "default",
    max_steps: options.max_turns ?? undefined,
    extras: { claude: options },
  });
  return { id: derivedId("agent", NAME), version: 1, status: "active", config };
}
