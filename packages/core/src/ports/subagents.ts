import type { Content } from "@skein/protocol";
import type { SessionState } from "../log/state.ts";

/** Starts and stops the sessions of subagents, and passes their answers on. */
export interface Subagents {
  /**
   * Creates the session that works on a call. Its id is derived from the call, so a second start finds the first
   * session. If the subagent cannot be started, returns the problem as a sentence for the model.
   */
  start(request: {
    state: SessionState;
    toolUseId: string;
    agent: string;
    input: unknown;
    /** The most that the subagent may spend. Null if only the limit in the subagent's settings applies. */
    maxCostMicros: number | null;
  }): Promise<{ readonly sessionId: string } | { readonly problem: string }>;
  /** Asks the session that works on a call to stop. A second call changes nothing. */
  cancel(request: { state: SessionState; toolUseId: string }): Promise<void>;
  /** Answers the call in the parent's log. A second call changes nothing. */
  inform(
    parent: { readonly session_id: string; readonly tool_use_id: string },
    answer: {
      content: Content;
      isError: boolean;
      /** What the subagent spent, in pico-dollars as decimal text. */
      costPicos: string;
      /** What the subagent's interrupted calls may have cost beyond `costPicos`. */
      reservedMicros: number;
    },
  ): Promise<void>;
}
