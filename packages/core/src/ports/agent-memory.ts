import type { Content } from "@skein/protocol";
import type { SessionState } from "../log/state.ts";

/** Time as an argument. */
export interface Timers {
  /** Resolves after so many milliseconds, or as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Almost 25 days: timers of this platform take a longer time for none at all. */
export const LONGEST_SLEEP = 2 ** 31 - 1;

/** Where generated files are kept, as `{file_id}_{filename}`. */
export interface FileStore {
  put(file: {
    sessionId: string;
    fileId: string;
    filename: string;
    bytes: Uint8Array;
  }): Promise<{ readonly storagePath: string }>;
  get(storagePath: string): Promise<Uint8Array>;
}

/** What an agent remembers across sessions. */
export interface MemoryStore {
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

/** How sessions call each other. */
export interface Subagents {
  /** Begins the session that works on a call; its id is derived from the call, so a second start finds the first. */
  start(request: {
    state: SessionState;
    toolUseId: string;
    agent: string;
    input: unknown;
    /** What it may spend; null for as much as its own agent allows. */
    maxCostMicros: number | null;
  }): Promise<{ readonly sessionId: string } | { readonly problem: string }>;
  /** Asks the session that works on a call to stop. Saying it twice changes nothing. */
  cancel(request: { state: SessionState; toolUseId: string }): Promise<void>;
  /** Answers the call in the parent's log. Saying it twice changes nothing. */
  inform(
    parent: { readonly session_id: string; readonly tool_use_id: string },
    answer: { content: Content; isError: boolean; costMicros: number },
  ): Promise<void>;
}
