import { createAgents } from "./agents.ts";
import { OUTPUTS } from "./stories/index.ts";

/** What the platform of development serves. */
export default { agents: createAgents(OUTPUTS) };
