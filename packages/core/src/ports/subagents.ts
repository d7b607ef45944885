import type { Content } from "@skein/protocol";
import type { SessionState } from "../log/state.ts";

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
