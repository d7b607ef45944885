import type { SessionState } from "@skein/core";
import type { Event, FactData } from "@skein/protocol";

/**
 * The answers of people and clients to questions and approvals, by tool call. The session's state has only the answers
 * to calls of the session. This object also has the answers to calls of Claude Code's subagents.
 */
export interface Answers {
  get(toolUseId: string): FactData<"await.answered"> | undefined;
  has(toolUseId: string): boolean;
  /** Adds the answers in events of other writers. If a call has several answers, the first answer counts. */
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
