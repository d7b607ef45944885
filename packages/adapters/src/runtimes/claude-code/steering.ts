import type { SessionState } from "@skein/core";
import { type Child, hasEffect } from "./claude-child.ts";
import { userMessage } from "./inbox.ts";

/** Passes prompts to a child (a process of Claude Code) during its turn. */
export interface Steering {
  /**
   * While a tool call that may have side effects is in progress, passes the prompts for this turn to the child. Claude
   * Code reads them together with the next tool result. If no tool result follows, the prompts get a separate run.
   * Reasons: docs/decisions/084-steering-claude-code.md.
   */
  handOver(state: SessionState): void;
  /** Returns true if the child has not yet read a prompt that `handOver` passed to it. */
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
