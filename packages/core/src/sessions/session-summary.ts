import type { Await, MessageRow, Session } from "@skein/protocol";
import type { SessionSummary } from "../ports/store.ts";

/** How many characters of the last message a summary has. */
export const SUMMARY_TEXT = 200;

/** The summary of a session, for stores that hold its rows in memory. `messages` are in the order of the transcript. */
export function summaryOf({
  session,
  messages,
  awaits,
}: {
  readonly session: Session;
  readonly messages: readonly Pick<MessageRow, "role" | "content" | "created_at">[];
  readonly awaits: readonly Await[];
}): SessionSummary {
  const last = messages.findLast(({ role }) => role === "user" || role === "assistant");
  const text = last?.content["text"];
  return {
    sessionId: session.id,
    lastMessage: last
      ? {
          role: last.role as "user" | "assistant",
          text: typeof text === "string" ? text.slice(0, SUMMARY_TEXT) : "",
          created_at: last.created_at,
        }
      : null,
    openAwaits: session.status === "idle" ? [] : awaits.filter((one) => one.closed_at === null).map(({ kind }) => kind),
  };
}
