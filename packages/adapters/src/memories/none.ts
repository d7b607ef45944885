import type { AgentMemory } from "@skein/core";

/**
 * No memory. An agent whose data says `none` has no memory at all; this adapter is for code that requires an agent
 * memory.
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
