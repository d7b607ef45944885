import { type AcceptedMessage, KnownError, type MessageInput } from "@skein/protocol";
import type { z } from "zod";
import { checkUploads } from "../../http/check-uploads.ts";
import { checkRights } from "../claude/rights.ts";
import { type Caller, type Handlers, sessionIn } from "../../request-context.ts";
import { PLACES, cursorOf, placeOf } from "../../http/cursor.ts";
import { modelOfMessage } from "./model-of-message.ts";

/** The messages of a session. */
export const messageHandlers = {
  async postMessage({ params, body }, call) {
    const accepted = await acceptMessage(call, params, body);
    await call.shared.tracing.remember(accepted.run_id, call.request.headers["traceparent"]);
    return accepted;
  },
  async listMessages({ params, query: { format, limit, cursor } }, call) {
    const { id } = await sessionIn(call, params);
    if (format === "blocks") return blocks(call, id, { limit: limit ?? 50, cursor });
    const page = await call.sessions.messages(id, {
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor: placeOf(cursor, PLACES.number) }),
    });
    return { data: [...page.items], next_cursor: cursorOf(page.cursor) };
  },
} satisfies Partial<Handlers>;

/** Writes a user's message into the session's event log. A worker can then begin the message's run. */
export async function acceptMessage(
  call: Caller,
  params: { session_id: string; agent_id?: string | undefined },
  body: Omit<z.output<typeof MessageInput>, "role">,
): Promise<AcceptedMessage> {
  const session = await sessionIn(call, params);
  const content = Array.isArray(body.content) ? body.content : body.content.text;
  checkUploads(content);
  const model = await modelOfMessage(call, session, body.model_id);
  await checkRights(call, session.id, { model });
  const accepted = await call.sessions.prompt(
    session.id,
    {
      content,
      mode: body.mode,
      model,
      maxCostMicros: body.max_cost_micros,
    },
    call.idempotency,
  );
  return {
    message: {
      id: accepted.messageId,
      session_id: session.id,
      sequence: null,
      role: "user" as const,
      content: Array.isArray(body.content) ? { blocks: body.content } : body.content,
      tool_call_id: null,
      created_at: accepted.acceptedAt,
    },
    run_id: accepted.runId,
    event_sequence: accepted.sequence,
  };
}

async function blocks(
  call: Caller,
  sessionId: string,
  { limit, cursor }: { limit: number; cursor: string | undefined },
) {
  const transcript = await call.sessions.transcript(sessionId);
  const from = cursor === undefined ? 0 : Number(placeOf(cursor, PLACES.number));
  if (from > transcript.length) throw new KnownError("invalid", "cursor: This is not a cursor of this list.");
  const to = from + limit;
  return {
    data: transcript.slice(from, to).map(({ id, role, content }) => ({ id, role, content })),
    next_cursor: cursorOf(to < transcript.length ? String(to) : null),
  };
}
