import type { ChangedSession } from "@skein/core";
import type { Handlers } from "../../request-context.ts";
import type { Sse } from "../../streams/sse.ts";
import { answerWithStream } from "../../streams/stream-answer.ts";
import type { StreamEnd } from "../../streams/open-streams.ts";
import { type ChangeSink, streamTenant } from "../../streams/tenant-stream.ts";
import { sessionText } from "./sessions.ts";

/** A stream that reports which sessions of a tenant change. */
export const changeHandlers = {
  async followSessions({ query }, call) {
    const { shared, principal } = call;
    const last = call.request.headers["last-event-id"];
    const after = typeof last === "string" && last !== "" ? last : query.after;
    return answerWithStream(call, () => ({
      async send(sse) {
        const { changes, now, deps } = shared;
        const { tenant } = principal;
        await streamTenant({ store: deps.store, changes, tenant, agentId: query.agent_id, after, now }, sinkOf(sse));
        return closing("shutdown");
      },
      closing,
    }));
  },
} satisfies Partial<Handlers>;

/** The text of each frame, made once for all readers. */
const texts = new WeakMap<ChangedSession, string>();

function textOf(change: ChangedSession): string {
  const known = texts.get(change);
  if (known !== undefined) return known;
  const text = `{"session":${sessionText(change.session)},"last_sequence":${change.lastSequence}}`;
  texts.set(change, text);
  return text;
}

function sinkOf(sse: Sse): ChangeSink {
  return {
    signal: sse.signal,
    opened: (cursor) => sse.send(`event: stream.opened\nid: ${cursor}\ndata: {}\n\n`),
    change: (change, cursor) => sse.send(`event: session.changed\nid: ${cursor}\ndata: ${textOf(change)}\n\n`),
    reset: (given) => sse.send(`event: stream.reset\ndata: ${JSON.stringify({ given })}\n\n`),
  };
}

function closing(reason: StreamEnd): string {
  return `event: stream.closing\ndata: ${JSON.stringify({ reason })}\n\n`;
}
