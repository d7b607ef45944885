import { setImmediate as nextTurn } from "node:timers/promises";
import type { Sessions } from "@skein/core";
import { type Event, type SessionMessage, createMessageRows } from "@skein/protocol";

/**
 * How many events are read at once. A long log is never completely in memory, and other requests run between two reads.
 */
const STRETCH = 500;

export interface MessagePage {
  readonly messages: readonly SessionMessage[];
  /** How many messages the session has in all. */
  readonly total: number;
}

/** Returns the messages of a session in the format of the Claude API. */
export async function sessionMessages(
  sessions: Sessions,
  sessionId: string,
  { first = 0, size = Number.POSITIVE_INFINITY }: { readonly first?: number; readonly size?: number } = {},
): Promise<MessagePage> {
  const messages: SessionMessage[] = [];
  let total = 0;
  const rowOf = createMessageRows();
  for (let after: number | undefined = 0; after !== undefined;) {
    const events: readonly Event[] = await sessions.events(sessionId, { after, limit: STRETCH });
    for (const event of events) {
      const row = rowOf(event);
      if (!row) continue;
      if (total >= first && messages.length < size) messages.push(row);
      total += 1;
    }
    after = events.length < STRETCH ? undefined : events.at(-1)?.sequence;
    if (after !== undefined) await nextTurn();
  }
  return { messages, total };
}
