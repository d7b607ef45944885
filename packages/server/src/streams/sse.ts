import type { ServerResponse } from "node:http";
import type { Limits } from "../http/limits.ts";

export interface SseOptions {
  readonly response: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
  readonly limits: Pick<Limits, "backlogBytes" | "backlogMs" | "heartbeatMs">;
  /** Called when a reader that stayed behind is disconnected. */
  readonly onCut: () => void;
}

/**
 * One SSE connection. A reader that does not read is disconnected, without an effect on other connections. Decision 061
 * in docs/decisions has the reasons.
 */
export interface Sse {
  /** Aborts when the reader or the server has ended the connection. */
  readonly signal: AbortSignal;
  /** Writes a frame. Waits up to `backlogMs` for a slow reader. Returns false if the connection is over. */
  send(frame: string): boolean | Promise<boolean>;
  /** Writes a frame only if the reader is not behind. */
  trySend(frame: string): void;
  end(lastFrame?: string): void;
}

const RETRY_MS = 1000;

export function openSse({ response, headers, limits, onCut }: SseOptions): Sse {
  const over = new AbortController();
  response.writeHead(200, {
    ...headers,
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    connection: "keep-alive",
  });
  response.socket?.setNoDelay(true);
  response.write(`retry: ${RETRY_MS}\n\n`);
  const heartbeat = setInterval(() => {
    if (response.writableLength === 0) response.write(": still here\n\n");
  }, limits.heartbeatMs);
  const finish = (): void => {
    clearInterval(heartbeat);
    over.abort();
  };
  response.once("close", finish);
  response.once("error", finish);
  if (response.destroyed) finish();

  // An empty buffer accepts every frame, because a frame above the limit could not be sent in any other way.
  const fits = (frame: string): boolean =>
    response.writableLength === 0 || response.writableLength + frame.length <= limits.backlogBytes;

  async function waitAndSend(frame: string): Promise<boolean> {
    if (!(await drained(response, limits.backlogMs, over.signal))) {
      if (!over.signal.aborted) onCut();
      response.destroy();
      return false;
    }
    return send(frame);
  }

  function send(frame: string): boolean | Promise<boolean> {
    if (over.signal.aborted) return false;
    if (!fits(frame)) return waitAndSend(frame);
    response.write(frame);
    return true;
  }

  return {
    signal: over.signal,
    send,
    trySend(frame) {
      if (!over.signal.aborted && fits(frame)) response.write(frame);
    },
    end(lastFrame) {
      if (over.signal.aborted) return;
      // A stuck reader must not keep the server from stopping, so a last frame that does not fit is left out.
      if (lastFrame !== undefined && fits(lastFrame)) response.end(lastFrame);
      else if (response.writableLength === 0) response.end();
      else response.destroy();
      finish();
    },
  };
}

/** Waits until the buffer is empty. Returns false after `ms`, or if the connection is over. */
function drained(response: ServerResponse, ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (empty: boolean) => (): void => {
      clearTimeout(timer);
      response.off("drain", onDrain);
      signal.removeEventListener("abort", onOver);
      resolve(empty);
    };
    const onDrain = done(true);
    const onOver = done(false);
    const timer = setTimeout(onOver, ms);
    response.once("drain", onDrain);
    signal.addEventListener("abort", onOver, { once: true });
    if (signal.aborted) onOver();
  });
}
