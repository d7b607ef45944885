import type { AgentMemory } from "@skein/core";

/** Remembers nothing: every hook runs and leaves its row in the log, with counts of 0. */
export function createPlaceholderMemory(): AgentMemory {
  return {
    type: "placeholder",
    retrieve: async () => ({ found: 0, memories: [] }),
    update: async () => 0,
    beforeCompaction: async () => ({ memories_written: 0 }),
    afterCompaction: async () => ({ memories_found: 0 }),
  };
}
