import { type Session, textOf } from "@skein/protocol";
import type { RequestContext } from "../../request-context.ts";

/**
 * How many events are read to find the first prompt, which is near the beginning: after the session's creation, and
 * after the messages that a fork copied.
 */
const FIRST_EVENTS = 12;
/** How many characters a line of a list shows. */
const LONGEST = 200;

/** The first prompt of each session that has no title, so that a list has a line for it. */
export async function firstPromptsOf(
  { shared, principal: { tenant } }: RequestContext,
  sessions: readonly Session[],
): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    sessions.map(async ({ id, title, total_runs }) => {
      if (title !== null || total_runs === 0) return undefined;
      const events = await shared.deps.store.read(id, { tenant, limit: FIRST_EVENTS });
      const prompt = events.find(({ event_type }) => event_type === "prompt.accepted");
      if (prompt?.event_type !== "prompt.accepted") return undefined;
      const text = textOf(prompt.data.content).replaceAll(/\s+/g, " ").trim();
      return text === "" ? undefined : ([id, text.slice(0, LONGEST).toWellFormed()] as const);
    }),
  );
  return new Map(found.filter((one) => one !== undefined));
}
