import { type Event, type Session, textOf } from "@skein/protocol";
import type { RequestContext } from "../../request-context.ts";

/** How many events are read to find the first prompt. The prompt is near the beginning of the log, even in a fork. */
const FIRST_EVENTS = 12;
/** The maximum number of characters in a line of a list. */
const LONGEST = 200;

/**
 * Returns the first prompt of each session without a title, as a line for a list. A fork begins with a copied prompt.
 */
export async function firstPromptsOf(
  { shared, principal: { tenant } }: RequestContext,
  sessions: readonly Session[],
): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    sessions.map(async ({ id, title, total_runs, parent_session_id }) => {
      if (title !== null || (total_runs === 0 && parent_session_id === null)) return undefined;
      const events = await shared.deps.store.read(id, { tenant, limit: FIRST_EVENTS });
      const text = events.map(promptIn).find((said) => said !== "");
      return text === undefined ? undefined : ([id, text.slice(0, LONGEST).toWellFormed()] as const);
    }),
  );
  return new Map(found.filter((one) => one !== undefined));
}

/** Returns the prompt of an event on one line, or an empty text if the event has no prompt. */
function promptIn({ event_type, data }: Event): string {
  const isPrompt = event_type === "prompt.accepted" || (event_type === "message.copied" && data.role === "user");
  return isPrompt ? textOf(data.content).replaceAll(/\s+/g, " ").trim() : "";
}
