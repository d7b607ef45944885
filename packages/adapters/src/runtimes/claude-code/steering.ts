import type { SessionState } from "@skein/core";
import { type Child, hasEffect } from "./claude-child.ts";
import { userMessage } from "./inbox.ts";

/** Passes prompts to a child during its turn. */
export interface Steering {
  /**
   * Passes the prompts for this turn to the child. Claude Code reads them together with the next tool result. If no
   * tool result follows, the prompts get a separate run. Reasons: decision 084.
   */
  handOver(state: SessionState): void;
  /** Returns true if the child has not yet read a prompt of this turn. */
  isUnread(state: SessionState): boolean;
}

export function createSteering(child: Child): Steering {
  const handed = new Set<string>();
  return {
    handOver({ run, queue }) {
      if (!run?.calls.some(({ phase, name }) => phase !== "done" && hasEffect(name))) return;
      for (const { mode, message_id, content } of queue) {
        if (mode !== "steer" || handed.has(message_id)) continue;
        handed.add(message_id);
        child.send(userMessage(message_id, content, "next"));
      }
    },
    isUnread: ({ queue }) => queue.some(({ message_id }) => handed.has(message_id)),
  };
}
