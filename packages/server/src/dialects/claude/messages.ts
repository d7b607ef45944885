import { setImmediate as nextTurn } from "node:timers/promises";
import type { Sessions } from "@skein/core";
import {
  type Event,
  type Framing,
  type SessionMessage,
  type StreamEvent,
  createFraming,
  partId,
} from "@skein/protocol";

/** How many events are read at once: a long log is neither held whole, nor does everybody wait for its end. */
const STRETCH = 500;

export interface MessagePage {
  readonly messages: readonly SessionMessage[];
  /** How many there are in all. */
  readonly total: number;
}

/** The Claude API's session_messages of a log: its frames as rows, from which the stream can be told again. */
export async function sessionMessages(
  sessions: Sessions,
  sessionId: string,
  { first = 0, size = Number.POSITIVE_INFINITY }: { readonly first?: number; readonly size?: number } = {},
): Promise<MessagePage> {
  const messages: SessionMessage[] = [];
  let total = 0;
  let framing: Framing | undefined;
  for (let after: number | undefined = 0; after !== undefined;) {
    const events: readonly Event[] = await sessions.events(sessionId, { after, limit: STRETCH });
    for (const event of events) {
      framing ??= framingOf(event);
      for (const row of rowsOf(event, framing)) {
        if (total >= first && messages.length < size) messages.push(row);
        total += 1;
      }
    }
    after = events.length < STRETCH ? undefined : events.at(-1)?.sequence;
    if (after !== undefined) await nextTurn();
  }
  return { messages, total };
}

function framingOf(created: Event): Framing {
  const agent = created.event_type === "session.created" ? created.data.agent : undefined;
  return createFraming({
    sessionId: created.session_id,
    model: agent?.model ?? "",
    tools: agent?.tool_schemas.map(({ name }) => name) ?? [],
    announces: agent?.runtime === "claude-code",
    contents: new Map(),
    costBefore: 0,
  });
}

function rowsOf(event: Event, framing: Framing): readonly SessionMessage[] {
  return framing(event).flatMap((frame, index) => {
    const row = rowOf(frame);
    if (!row) return [];
    const { uuid } = row.content;
    const id = typeof uuid === "string" ? uuid : partId(event.id, index);
    return [{ id, session_id: event.session_id, ...row, created_at: event.created_at }];
  });
}

function rowOf(frame: StreamEvent): Pick<SessionMessage, "message_type" | "content"> | undefined {
  switch (frame.event) {
    case "message":
      return { message_type: frame.data.type, content: frame.data };
    case "init":
    case "question":
    case "error":
      return { message_type: "system", content: { ...frame.data, subtype: frame.event } };
    case "result":
      return { message_type: "result", content: frame.data };
    case "done":
    case "partial":
      return undefined;
  }
}
