import type { Agent } from "../api/api.ts";
import { visibleLine } from "../text/safe-text.ts";

/** What an agent is for: its description, or else what its prompt says. */
export function aboutAgent({ description, system_prompt, config }: Agent): string {
  if (description !== null && description !== "") return visibleLine(description);
  if (system_prompt !== "") return visibleLine(system_prompt);
  return config.tool_schemas.length === 0 ? "No instructions and no tools: only the model answers." : "No description.";
}
