import type { AgentMemory } from "@skein/core";

/**
 * Creates an agent memory that does nothing, for code that requires an agent memory. An agent with the setting `none`
 * has no agent memory, so it does not need this adapter.
 */
export function createNoMemory(): AgentMemory {
  return {
    type: "none",
    retrieve: async () => ({ found: 0, memories: [] }),
    update: async () => 0,
    beforeCompaction: async () => ({}),
    afterCompaction: async () => ({}),
  };
}
