/** Sends an answer with the timing and the faults of its step. */
import type { ServerResponse } from "node:http";
import { setImmediate, setTimeout } from "node:timers/promises";
import { ApiError } from "./api-error.ts";
import type { Dialect } from "./dialects/dialect.ts";
import type { StreamEvent } from "./dialects/stream.ts";
import { NO_FAULTS, type Faults } from "./faults.ts";
import { JSON_TYPE } from "./http.ts";
import type { Outcome } from "./ledger.ts";
import type { InsteadFault, Step, StreamErrorFault } from "./script.ts";

const STREAM_TYPE = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

export interface AnswerToSend {
  /** An answer that is not streamed is one event. */
  readonly events: readonly StreamEvent[];
  readonly stream: boolean;
  readonly step: Step;
  readonly faults: Faults;
  readonly requestId: string;
  readonly dialect: Dialect;
}

export async function sendAnswer(response: ServerResponse, answer: AnswerToSend): Promise<Outcome> {
  const headers = answer.stream ? streamType(answer.dialect) : JSON_TYPE;
  if (isPlain(answer)) {
    // The whole stream is sent in one write, so that the simulator takes little time in benchmarks.
    response.writeHead(200, headers).end(joined(answer.events));
    return "answered";
  }
  return untilGone(response, async (signal) => {
    const { step, faults } = answer;
    if (step.delayMs) await setTimeout(step.delayMs, undefined, { signal });
    if (faults.hang && (faults.hang.afterChunks ?? 0) === 0) return silence(signal);
    if (faults.cut?.afterBytes === 0) return hangUp(response);
    if (faults.instead) return sendInstead(response, faults.instead, headers);
    response.writeHead(200, headers);
    return send(response, answer, signal);
  });
}

function streamType({ streamType: type }: Dialect): typeof STREAM_TYPE {
  return type === undefined ? STREAM_TYPE : { ...STREAM_TYPE, "content-type": type };
}

function joined(events: readonly StreamEvent[]): string | Buffer {
  if (events.every(({ text }) => typeof text === "string")) return events.map(({ text }) => text).join("");
  return Buffer.concat(events.map(({ text }) => Buffer.from(text)));
}

/** Runs `work` with a signal that aborts when the client disconnects. */
export async function untilGone(
  response: ServerResponse,
  work: (signal: AbortSignal) => Promise<Outcome>,
): Promise<Outcome> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.once("close", leave);
  try {
    return await work(gone.signal);
  } catch (error) {
    if (gone.signal.aborted) return "aborted";
    throw error;
  } finally {
    response.off("close", leave);
  }
}

function isPlain({ step, faults }: AnswerToSend): boolean {
  return faults === NO_FAULTS && !step.delayMs && !step.chunkDelayMs && !step.oneByte && !step.splitUtf8;
}

async function send(response: ServerResponse, answer: AnswerToSend, signal: AbortSignal): Promise<Outcome> {
  const { step, faults } = answer;
  const broken = answer.stream && faults.streamError;
  let room = faults.cut?.afterBytes ?? Infinity;
  for (const { text, kind } of eventsToSend(answer)) {
    const bytes = Buffer.from(text).subarray(0, room);
    for (const piece of piecesOf(bytes, step)) {
      if (signal.aborted) return "aborted";
      response.write(piece);
      // Without this wait for the event loop, the pieces would be sent together.
      if (step.oneByte || step.splitUtf8) await setImmediate();
    }
    room -= bytes.length;
    if (room <= 0) return hangUp(response);
    if (kind === "delta" && step.chunkDelayMs) await setTimeout(step.chunkDelayMs, undefined, { signal });
  }
  if (faults.hang) return silence(signal);
  if (faults.cut) return hangUp(response);
  response.end();
  return broken || (answer.stream && faults.endEarly) ? "faulted" : "answered";
}

const PAGE = "<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>";

function sendInstead(
  response: ServerResponse,
  { body }: InsteadFault,
  usual: Readonly<Record<string, string>>,
): Outcome {
  const type = body === "html" ? { "content-type": "text/html" } : usual;
  response.writeHead(200, type).end(body === "html" ? PAGE : "");
  return "faulted";
}

function eventsToSend({ events, faults, stream, requestId, dialect }: AnswerToSend): readonly StreamEvent[] {
  if (faults.hang?.afterChunks !== undefined) return upToDelta(events, faults.hang.afterChunks);
  if (stream && faults.endEarly) return upToDelta(events, faults.endEarly.afterChunks ?? Infinity);
  if (!stream || !faults.streamError) return events;
  const error = dialect.errorEvent(errorOf(faults.streamError), requestId);
  return [...upToDelta(events, faults.streamError.afterChunks ?? 1), error];
}

/** The events up to this number of deltas, without the end of the message. */
function upToDelta(events: readonly StreamEvent[], count: number): readonly StreamEvent[] {
  const end = events.findIndex(({ kind }) => kind === "end");
  const places = events.flatMap(({ kind }, index) => (kind === "delta" ? [index] : []));
  const place = places[count - 1];
  if (count === 0) return events.filter(({ kind }) => kind === "start");
  return events.slice(0, place === undefined ? end : place + 1);
}

function errorOf({ type, message }: StreamErrorFault): ApiError {
  return new ApiError(type === undefined || type === "overloaded_error" ? 529 : 500, { type, message });
}

function piecesOf(bytes: Buffer, step: Step): readonly Buffer[] {
  if (!step.oneByte && !step.splitUtf8) return [bytes];
  const pieces: Buffer[] = [];
  let start = 0;
  for (let index = 1; index < bytes.length; index += 1) {
    const isInsideCharacter = ((bytes[index] ?? 0) & 0xc0) === 0x80;
    if (!step.oneByte && !isInsideCharacter) continue;
    pieces.push(bytes.subarray(start, index));
    start = index;
  }
  return [...pieces, bytes.subarray(start)];
}

async function silence(signal: AbortSignal): Promise<Outcome> {
  // A pause of one day, which is longer than any client waits. It ends when the client disconnects.
  await setTimeout(24 * 60 * 60_000, undefined, { signal });
  return "faulted";
}

/** Ends the connection in the middle of an answer, after the written bytes were sent. */
async function hangUp(response: ServerResponse): Promise<Outcome> {
  if (response.headersSent) await new Promise<void>((resolve) => response.write("", () => resolve()));
  response.destroy();
  return "faulted";
}
