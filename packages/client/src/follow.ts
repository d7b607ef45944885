import type { Draft, Event } from "@skein/protocol";
import { type ClientOptions, SkeinError, errorOf, keyHeader } from "./client.ts";
import { sseFrames } from "./sse-frames.ts";

export interface FollowOptions {
  /** The last event that is known; 0, the default, begins at the start. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** Told before each new attempt, with how many have failed in a row. */
  readonly onReconnect?: (attempt: number) => void;
  /** A connection on which nothing arrives for longer is given up. The server speaks every 15 s. */
  readonly silenceMs?: number;
}

/** What a follower is given: events in order without a gap, drafts in between, and a reset where the log is another one. */
export type Followed =
  | { readonly type: "event"; readonly event: Event }
  | { readonly type: "draft"; readonly draft: Draft }
  | { readonly type: "reset" };

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;

/**
 * Follows a session for as long as the caller wants, over as many connections as it takes.
 *
 * Ends when the signal aborts, or when the session is deleted. Throws what another attempt would not mend: a wrong key, no such session.
 */
export async function* followSession(
  client: ClientOptions,
  sessionId: string,
  { after = 0, signal, onReconnect, silenceMs = 45_000 }: FollowOptions = {},
): AsyncGenerator<Followed> {
  let last = after;
  let failures = 0;
  for (;;) {
    if (signal?.aborted) return;
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    signal?.addEventListener("abort", abort, { once: true });
    try {
      for await (const frame of connection(client, { sessionId, after: last, stop, silenceMs })) {
        failures = 0;
        if (frame.event === "stream.closing") {
          if ((JSON.parse(frame.data) as { reason: string }).reason === "deleted") return;
          break;
        }
        if (frame.event === "stream.reset") {
          last = 0;
          yield { type: "reset" };
        } else if (frame.id === undefined) yield { type: "draft", draft: JSON.parse(frame.data) as Draft };
        else if (Number(frame.id) > last) {
          last = Number(frame.id);
          yield { type: "event", event: JSON.parse(frame.data) as Event };
        }
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof SkeinError && isFinal(error.status)) throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      stop.abort();
    }
    failures += 1;
    onReconnect?.(failures);
    await wait(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1)) * (0.5 + Math.random() / 2), signal);
  }
}

async function* connection(
  client: ClientOptions,
  options: { sessionId: string; after: number; stop: AbortController; silenceMs: number },
) {
  const { sessionId, after, stop, silenceMs } = options;
  const address = `${client.url.replace(/\/$/, "")}/v1/sessions/${encodeURIComponent(sessionId)}/events?after=${after}`;
  const response = await (client.fetch ?? fetch)(address, {
    headers: { ...keyHeader(client), accept: "text/event-stream" },
    signal: stop.signal,
  });
  if (!response.ok) throw await errorOf(response);
  if (!response.body) return;
  yield* sseFrames(response.body.pipeThrough(silenceBreaker(stop, silenceMs)));
}

/** Gives a connection up on which not even the server's comments arrive. */
function silenceBreaker(stop: AbortController, silenceMs: number): TransformStream<Uint8Array, Uint8Array> {
  let timer = setTimeout(() => stop.abort(), silenceMs);
  stop.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return new TransformStream({
    transform(chunk, controller) {
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), silenceMs);
      controller.enqueue(chunk);
    },
    flush: () => clearTimeout(timer),
  });
}

/** Answers that will be the same next time. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    if (signal?.aborted) done();
  });
}
