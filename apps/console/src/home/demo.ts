import type { Agent } from "../api/api.ts";

/** The tool that a server has for the demo. A call of this tool needs an approval, and changes nothing. */
export const DEMO_TOOL = "demo_refund";

export function isDemo({ config }: Agent): boolean {
  return config.tool_schemas.some(({ name }) => name === DEMO_TOOL);
}
