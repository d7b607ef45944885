import type { AgentMemory } from "@skein/core";

/** Creates an agent memory that remembers nothing. Its hooks run and the log shows their counts, which are 0. */
export function createPlaceholderMemory(): AgentMemory {
  return {
    type: "placeholder",
    retrieve: async () => ({ found: 0, memories: [] }),
    update: async () => 0,
    beforeCompaction: async () => ({ memories_written: 0 }),
    afterCompaction: async () => ({ memories_found: 0 }),
  };
}
