import type { SessionState } from "@skein/core";
import { type StreamEvent, placeOfFrame } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import type { RequestContext, Caller, TAKEN_OVER } from "../../request-context.ts";
import { answerWithStream } from "../../streams/stream-answer.ts";
import type { StreamEnd } from "../../streams/open-streams.ts";
import { claudeSession } from "./accept.ts";
import { type AskedRun, runAt } from "./requested-run.ts";
import { sendRun } from "./run-frames.ts";

/**
 * Answers a request with the frames of a run. The run continues if the reader disconnects, unless the request asked to
 * stop it.
 */
export async function streamRun(
  call: RequestContext,
  asked: () => Promise<AskedRun>,
  { stopOnDisconnect = false }: { stopOnDisconnect?: boolean } = {},
): Promise<typeof TAKEN_OVER> {
  const { shared, sessions } = call;
  return answerWithStream(call, async () => {
    const run = await asked();
    let closed = false;
    return {
      async send(sse) {
        const sink = {
          signal: sse.signal,
          frame: (frame: StreamEvent) => sse.send(frameText(frame)),
          partial: (frame: StreamEvent) => sse.trySend(frameText(frame)),
        };
        const isOver = await sendRun({ ...shared.deps, sessions, run }, sink);
        if (!isOver && !closed && stopOnDisconnect) await stopRun(call, run);
        return ": the end\n\n";
      },
      closing(reason) {
        closed = true;
        return closing(reason);
      },
    };
  });
}

/** Returns the run of the event in the Last-Event-ID header. Returns undefined without this header. */
export async function takenUp(call: RequestContext, sessionId?: string): Promise<AskedRun | undefined> {
  const header = call.request.headers["last-event-id"];
  if (typeof header !== "string" || header === "") return undefined;
  return runAfter(call, header, { sessionId, field: "Last-Event-ID" });
}

/** Returns the run of the reader's last event. The reader follows the run from that event on. */
export async function runAfter(
  { sessions }: Caller,
  eventId: string,
  { sessionId, field }: { readonly sessionId: string | undefined; readonly field: string },
): Promise<AskedRun> {
  const place = placeOfFrame(eventId);
  const id = place?.sessionId ?? sessionId;
  // An unknown id is rejected. If it were accepted, a client that repeats a query after a broken connection would pay
  // for a second run.
  if (!place || id === undefined || (sessionId !== undefined && id !== sessionId)) throw noEvent(field);
  await claudeSession({ sessions }, id);
  const run = await runAt(sessions, id, place.sequence);
  if (!run) throw noEvent(field);
  const state = await sessions.state(id);
  const from = run.first_sequence - 1;
  const { sequence: after } = place;
  return { sessionId: id, runId: run.id, from, after, isTakenUp: true, partials: hasPartials(state), state };
}

function noEvent(field: string): ApiError {
  return new ApiError("VALIDATION_ERROR", `${field}: This is not the id of an event of this stream.`);
}

/** Returns the run in progress. If no run is in progress, returns the next queued run or the last run. */
export async function currentRun({ sessions }: Pick<Caller, "sessions">, sessionId: string): Promise<AskedRun> {
  const state = await sessions.state(sessionId);
  const { run, queue, sequence } = state;
  const also = { sessionId, after: 0, partials: hasPartials(state), state };
  const [next] = queue;
  // A queued run has no events yet. Its frames begin at the current state, which contains its prompt.
  if (!run && next) return { ...also, runId: next.run_id, from: sequence };
  const [latest] = (await sessions.runs(sessionId, { limit: 1 })).items;
  if (!latest) throw new ApiError("SESSION_NOT_FOUND", `Session ${sessionId} has no run that could be followed.`);
  return { ...also, runId: latest.id, from: latest.first_sequence - 1 };
}

function hasPartials({ agent, run }: SessionState): boolean {
  const own = agent?.extras["claude"] as { include_partial_messages?: unknown } | undefined;
  return (run?.prompt.options?.["include_partial_messages"] ?? own?.include_partial_messages) === true;
}

/** Cancels a run whose client has disconnected. */
export async function stopRun({ sessions }: Caller, { sessionId, runId }: AskedRun): Promise<void> {
  // The run may have ended before the cancellation.
  await sessions.cancel(sessionId, { runId, reason: "The client disconnected." }).catch(() => {});
}

/** A frame as SSE. JSON has no raw line breaks, so the data is always one line. */
function frameText({ event, id, data }: StreamEvent): string {
  return `event: ${event}\n${id ? `id: ${id}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
}

/** Returns the last frame if a connection ends before its run. A reader with a valid key can reconnect. */
function closing(reason: StreamEnd): string {
  return frameText({ event: "error", data: CLOSING[reason] });
}

const CLOSING: Readonly<Record<StreamEnd, Extract<StreamEvent, { event: "error" }>["data"]>> = {
  shutdown: {
    code: "SERVICE_UNAVAILABLE",
    message: "The server is stopping, and the run continues. Follow it again with Last-Event-ID.",
  },
  revoked: { code: "AUTHENTICATION_ERROR", message: "The key was revoked, or has expired." },
  deleted: { code: "SESSION_NOT_FOUND", message: "The session was deleted." },
};
