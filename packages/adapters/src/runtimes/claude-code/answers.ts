import type { SessionState } from "@skein/core";
import type { Event, FactData } from "@skein/protocol";

/**
 * Answers that clients appended, by the tool call that they answer. The state has only answers to the session's own
 * calls, but subagents of Claude Code ask as well.
 */
export interface Answers {
  get(toolUseId: string): FactData<"await.answered"> | undefined;
  has(toolUseId: string): boolean;
  /** Takes the answers from events that other writers appended. The first answer to a call counts. */
  takeIn(events: readonly Event[]): void;
}

export function createAnswers({ run }: SessionState): Answers {
  const answers = new Map<string, FactData<"await.answered">>();
  for (const { toolUseId, answer } of run?.calls ?? []) if (answer) answers.set(toolUseId, answer);
  return {
    get: (toolUseId) => answers.get(toolUseId),
    has: (toolUseId) => answers.has(toolUseId),
    takeIn(events) {
      for (const event of events)
        if (event.event_type === "await.answered" && !answers.has(event.data.tool_use_id))
          answers.set(event.data.tool_use_id, event.data);
    },
  };
}
