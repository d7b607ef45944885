import { AgentConfig, ClaudeOptions } from "@skein/protocol";
import type { SessionAgent } from "./agents.ts";
import { derivedId } from "./derived-id.ts";

const NAME = "Claude Code";

/**
 * Makes the built-in agent for a session of Claude Code, with the options of the session. The id of the agent is always
 * the same.
 */
export function claudeAgent(options: ClaudeOptions): SessionAgent {
  const config = AgentConfig.parse({
    name: NAME,
    runtime: "claude-code",
    // The SDK calls its default model `default`.
    model: options.model ?? "default",
    max_steps: options.max_turns ?? undefined,
    extras: { claude: options },
  });
  return { id: derivedId("agent", NAME), version: 1, status: "active", config };
}
