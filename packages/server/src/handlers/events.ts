import { type Draft, type Event, KnownError } from "@skein/protocol";
import { type Call, type Handlers, sessionIn } from "../call.ts";
import { streamSession } from "../session-stream.ts";
import type { Sse } from "../sse.ts";
import { answerWithStream } from "../stream-answer.ts";
import type { StreamEnd } from "../streams.ts";

const PAGE = 100;

/** The log of a session, as a list or live. */
export const eventHandlers = {
  async listEvents({ params, query }, call) {
    const session = await sessionIn(call, params);
    const { id } = session;
    if (wantsStream(call)) {
      if (query.limit !== undefined) throw new KnownError("invalid", "limit: A stream has none. Ask for JSON.");
      const last = call.request.headers["last-event-id"];
      const after = typeof last === "string" && last !== "" ? last : String(query.after ?? 0);
      return answerWithStream(call, () => ({
        async send(sse) {
          await streamSession({ sessions: call.sessions, live: call.shared.deps.live, session, after }, sinkOf(sse));
          return closing("deleted");
        },
        closing,
      }));
    }
    const { after = 0, limit = PAGE } = query;
    const events = await call.sessions.events(id, { after, limit: limit + 1 });
    const data = events.slice(0, limit);
    return { data, next_after: events.length > limit ? (data.at(-1)?.sequence ?? null) : null };
  },
} satisfies Partial<Handlers>;

/** A stream is for those who ask for one. Who would rather have JSON says so with a weight. */
function wantsStream(call: Call): boolean {
  const accepted = (call.request.headers.accept ?? "").split(",");
  const weight = weightOf(accepted, "text/event-stream");
  return weight > 0 && weight >= weightOf(accepted, "application/json");
}

function weightOf(accepted: readonly string[], type: string): number {
  const entry = accepted.find((one) => one.split(";")[0]?.trim().toLowerCase() === type);
  if (entry === undefined) return 0;
  const weight = Number(/;\s*q=([\d.]+)/i.exec(entry)?.[1] ?? "1");
  return Number.isNaN(weight) ? 1 : weight;
}

/** Frames as text. An event is made into text once, however many read it. */
const frames = new WeakMap<Event, string>();

function frameOf(event: Event): string {
  const known = frames.get(event);
  if (known !== undefined) return known;
  // JSON has no line breaks of its own, so the data is always one line.
  const frame = `event: ${event.event_type}\nid: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`;
  frames.set(event, frame);
  return frame;
}

function draftFrame({ event_type, data }: Draft): string {
  return `event: ${event_type}\ndata: ${JSON.stringify({ event_type, data })}\n\n`;
}

function sinkOf(sse: Sse) {
  return {
    signal: sse.signal,
    event: (event: Event) => sse.send(frameOf(event)),
    draft: (draft: Draft) => sse.trySend(draftFrame(draft)),
    reset: (given: string) => sse.send(`event: stream.reset\ndata: ${JSON.stringify({ given, after: 0 })}\n\n`),
  };
}

function closing(reason: StreamEnd): string {
  return `event: stream.closing\ndata: ${JSON.stringify({ reason })}\n\n`;
}
