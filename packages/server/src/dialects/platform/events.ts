import type { Sessions } from "@skein/core";
import { type Draft, type Event, KnownError } from "@skein/protocol";
import { type RequestContext, type Handlers, sessionIn } from "../../request-context.ts";
import { streamSession } from "../../streams/session-stream.ts";
import type { Sse } from "../../streams/sse.ts";
import { answerWithStream } from "../../streams/stream-answer.ts";
import type { StreamEnd } from "../../streams/open-streams.ts";

const PAGE = 100;
/** A page that reaches this size ends, even if it has fewer events than `limit`. */
const PAGE_BYTES = 4 * 1024 * 1024;
const FIRST_PART = 20;

/** The log of a session, as pages or as a stream. */
export const eventHandlers = {
  async listEvents({ params, query }, call) {
    const session = await sessionIn(call, params);
    const { id } = session;
    if (wantsStream(call)) {
      for (const name of ["limit", "before", "order"] as const)
        if (query[name] !== undefined)
          throw new KnownError(
            "invalid",
            `${name}: A stream does not take this parameter. Ask for JSON (Accept: application/json).`,
          );
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
    const { after = 0, limit = PAGE, before, order } = query;
    if (before !== undefined || order !== undefined) {
      if (query.after !== undefined)
        throw new KnownError("invalid", "after: Expected either after, or before and order.");
      const end = Math.min(before ?? Number.POSITIVE_INFINITY, (await lastSequence(call, id)) + 1);
      return pageBefore(call.sessions, id, { before: end, limit });
    }
    return pageOf(call.sessions, id, { after, limit });
  },
} satisfies Partial<Handlers>;

/** Reads a page in parts of growing length, because a few large events can reach PAGE_BYTES long before `limit`. */
async function pageOf(sessions: Sessions, sessionId: string, { after, limit }: { after: number; limit: number }) {
  const data: Event[] = [];
  let size = 0;
  for (let part = FIRST_PART; ;) {
    const asked = Math.min(part, limit + 1 - data.length);
    const events = await sessions.events(sessionId, { after: after + data.length, limit: asked });
    data.push(...events);
    const sizes = events.map((event) => JSON.stringify(event.data).length);
    size += sizes.reduce((sum, one) => sum + one, 0);
    if (events.length < asked) return { data, next_after: null };
    if (data.length > limit || size > PAGE_BYTES) {
      const shown = data.slice(0, limit);
      return { data: shown, next_after: shown.at(-1)?.sequence ?? null };
    }
    // The next part has no more events than fill the page, if each is as large as the largest event of this part.
    part = Math.min(part * 2, Math.ceil((PAGE_BYTES - size + 1) / Math.max(...sizes)));
  }
}

async function lastSequence({ shared, principal }: RequestContext, sessionId: string): Promise<number> {
  const query = { tenant: principal.tenant, sessionIds: [sessionId] };
  const [head] = (await shared.deps.store.changed(query)).items;
  return head?.lastSequence ?? 0;
}

/**
 * Reads the page of events before a sequence, backwards in parts of growing length. A page of large events has fewer
 * events.
 */
async function pageBefore(sessions: Sessions, sessionId: string, { before, limit }: { before: number; limit: number }) {
  let data: Event[] = [];
  let [first, size] = [before, 0];
  for (let part = FIRST_PART; first > 1 && data.length < limit && size <= PAGE_BYTES; part *= 2) {
    const asked = Math.min(part, limit - data.length, first - 1);
    const events = await sessions.events(sessionId, { after: first - 1 - asked, limit: asked });
    first -= asked;
    data = [...events, ...data];
    size += events.reduce((sum, event) => sum + JSON.stringify(event.data).length, 0);
  }
  return { data, next_after: null, next_before: first > 1 ? first : null };
}

/** Whether the Accept header names event streams, with at least the weight of JSON. */
function wantsStream(call: RequestContext): boolean {
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

/** The text of each event as a frame, made once for all readers. */
const frames = new WeakMap<Event, string>();

function frameOf(event: Event): string {
  const known = frames.get(event);
  if (known !== undefined) return known;
  // JSON has no raw line breaks, so the data is always one line.
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
