import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type AnswerTap, tapAnswer } from "./usage-of-answer.ts";

/** The address and the credentials of the model. */
export interface Upstream {
  /** Such as `https://api.anthropic.com`. */
  readonly baseUrl: string;
  /** The headers that carry the real credentials. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch;
}

export interface Forwarded extends AnswerTap {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Path and query. */
  readonly path: string;
  readonly signal: AbortSignal;
}

/** Headers that belong to one connection, or to the program's own credentials. */
const NOT_PASSED_ON = new Set([
  "host",
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "x-api-key",
  "authorization",
  "accept-encoding",
  "content-encoding",
  "proxy-authorization",
  "cookie",
]);

/** Forwards a request with the real credentials, and passes the answer back as it arrives. */
export async function forwardRequest(
  forwarded: Forwarded,
  { baseUrl, credentials, fetch: send = fetch }: Upstream,
): Promise<void> {
  const { request, response, body, path, signal } = forwarded;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  let answer: Response;
  try {
    answer = await send(`${baseUrl.replace(/\/+$/, "")}${path}`, {
      method: "POST",
      // Requests an uncompressed answer, because the usage in it is read on the way.
      headers: { ...passedOn(request), "accept-encoding": "identity", ...credentials },
      body,
      redirect: "manual",
      signal: AbortSignal.any([signal, gone.signal]),
    });
  } catch (error) {
    if (gone.signal.aborted) return;
    const reason = signal.aborted ? "the run is over" : reasonOf(error);
    response.writeHead(502, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        type: "error",
        error: { type: "api_error", message: `The model cannot be reached: ${reason}.` },
      }),
    );
    return;
  }
  const headers = [...answer.headers].filter(([name]) => !NOT_PASSED_ON.has(name) && name !== "set-cookie");
  response.writeHead(answer.status, Object.fromEntries(headers));
  if (!answer.body) return void response.end();
  const tap = tapAnswer(answer.headers.get("content-type") ?? "", forwarded);
  await pipeline(Readable.fromWeb(answer.body), tap, response).catch(() => response.destroy());
}

function passedOn({ headers }: IncomingMessage): Record<string, string> {
  const kept = Object.entries(headers).filter(([name, value]) => typeof value === "string" && !NOT_PASSED_ON.has(name));
  return Object.fromEntries(kept) as Record<string, string>;
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
}
