import { type Event, type Session, textOf } from "@skein/protocol";
import type { RequestContext } from "../../request-context.ts";

/**
 * How many events are read to find the first prompt, which is near the beginning: after the session's creation, and
 * after the messages that a fork copied.
 */
const FIRST_EVENTS = 12;
/** How many characters a line of a list shows. */
const LONGEST = 200;

/**
 * The first prompt of each session that has no title, so that a list has a line for it. A fork begins with the prompt
 * that it copied.
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

/** The prompt of an event on one line; empty if the event has none. */
function promptIn({ event_type, data }: Event): string {
  const isPrompt = event_type === "prompt.accepted" || (event_type === "message.copied" && data.role === "user");
  return isPrompt ? textOf(data.content).replaceAll(/\s+/g, " ").trim() : "";
}
