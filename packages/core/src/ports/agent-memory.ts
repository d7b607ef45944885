import type { SessionState } from "../log/state.ts";

/** What an agent remembers across sessions. */
export interface AgentMemory {
  /** The registry name: none, placeholder, full_text. */
  readonly type: string;
  /** What may matter for this prompt: how much was found, and what of it is put before the model. */
  retrieve(request: {
    state: SessionState;
    query: string;
  }): Promise<{ readonly found: number; readonly memories: readonly string[] }>;
  /** After a run: keeps what is worth keeping; answers how many. */
  update(request: { state: SessionState; answer: string }): Promise<number>;
  /** Hooks around a compaction: the last moment to save what it drops, and the first to bring something back. */
  beforeCompaction(state: SessionState): Promise<Record<string, unknown>>;
  afterCompaction(state: SessionState): Promise<Record<string, unknown>>;
}
