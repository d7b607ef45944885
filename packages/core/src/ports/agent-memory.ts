import type { SessionState } from "../log/state.ts";

/**
 * What an agent remembers across sessions. If a method fails, the failure becomes a fact, and the run continues without
 * the memory.
 */
export interface AgentMemory {
  /** The name in the agent's settings: `none`, `placeholder`, `full_text`, or the name of a custom memory. */
  readonly type: string;
  /** Finds memories for this prompt. Returns how many were found, and the texts for the model. */
  retrieve(request: {
    state: SessionState;
    query: string;
  }): Promise<{ readonly found: number; readonly memories: readonly string[] }>;
  /**
   * Called once at the end of each run with a final answer. Stores what may matter later, and returns how many memories
   * were stored.
   */
  update(request: { state: SessionState; answer: string }): Promise<number>;
  /**
   * Called before a compaction, to save what the compaction drops. The result is recorded in the fact `memory.saved`.
   */
  beforeCompaction(state: SessionState): Promise<Record<string, unknown>>;
  /** Called after a compaction, to restore something. The result is recorded in the fact `memory.restored`. */
  afterCompaction(state: SessionState): Promise<Record<string, unknown>>;
  /**
   * Called when a session is deleted. Removes what was stored about the session. A custom memory may leave this out.
   */
  forget?(session: { readonly tenant: string; readonly sessionId: string }): Promise<void>;
}
