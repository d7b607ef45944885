import { timedFetch } from "./server-clock.ts";

/**
 * Whether the server answers this page. Requests of all kinds say it, so streams and error messages need not find it
 * out for themselves.
 */
let heardAt = 0;
let lostAt: number | undefined;
const listeners = new Set<() => void>();

/** A visible page requests the server's health every 20 s, so a longer silence shows that the page was asleep. */
const SILENCE_MS = 25_000;

/** Calls `fetch` and notices whether the server answers. */
export async function watchedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  try {
    const response = await timedFetch(...request);
    if (isOfServer(response)) heard();
    else missed();
    return response;
  } catch (error) {
    if (isUnreachable(error)) missed();
    throw error;
  }
}

/** Whether a request failed because no answer came. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof TypeError;
}

/** A proxy answers with a page of its own if it cannot reach the server. The server's errors are JSON. */
function isOfServer({ status, headers }: Response): boolean {
  return status < 502 || status > 504 || (headers.get("content-type") ?? "").includes("json");
}

function heard(): void {
  heardAt = Date.now();
  if (lostAt === undefined) return;
  lostAt = undefined;
  tell();
}

function missed(): void {
  if (lostAt !== undefined) return;
  const now = Date.now();
  lostAt = now - heardAt < SILENCE_MS ? now : heardAt;
  tell();
}

function tell(): void {
  for (const listener of listeners) listener();
}

/** Calls `changed` when the server is lost and when it answers again. */
export function onConnection(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

/** Returns since when the server does not answer, by the device's clock: 0 if it never did, undefined if it answers. */
export function lostSince(): number | undefined {
  return lostAt;
}

/**
 * A server that answers again after a shorter time does not end a pause. Else a stream that always fails would have no
 * pauses.
 */
const SHORTEST_LOSS_MS = 1000;

/** Waits for this time before a new attempt. The wait ends when the server answers again, or when the signal aborts. */
export function pauseUntilBack(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let wasLostAt = lostAt;
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      stopListening();
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    const stopListening = onConnection(() => {
      if (lostAt === undefined && wasLostAt !== undefined && Date.now() - wasLostAt >= SHORTEST_LOSS_MS) done();
      wasLostAt = lostAt;
    });
    if (signal?.aborted) done();
  });
}
