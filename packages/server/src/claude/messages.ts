import type { Sessions } from "@skein/core";
import { type SessionMessage, type StreamEvent, createFraming, partId } from "@skein/protocol";

/** The seed's session_messages of a log: its frames as rows, from which the stream can be told again. */
export async function sessionMessages(sessions: Sessions, sessionId: string): Promise<readonly SessionMessage[]> {
  const { agent } = await sessions.state(sessionId);
  const framing = createFraming({
    sessionId,
    model: agent?.model ?? "",
    tools: agent?.tool_schemas.map(({ name }) => name) ?? [],
    announces: agent?.runtime === "claude-code",
    contents: new Map(),
    costBefore: 0,
  });
  const events = await sessions.events(sessionId);
  return events.flatMap((event) =>
    framing(event).flatMap((frame, index) => {
      const row = rowOf(frame);
      if (!row) return [];
      const { uuid } = row.content;
      const id = typeof uuid === "string" ? uuid : partId(event.id, index);
      return [{ id, session_id: sessionId, ...row, created_at: event.created_at }];
    }),
  );
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
