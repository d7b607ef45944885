import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type AnswerTap, type AskedAnswer, tapAnswer, usageOfCut } from "./usage-of-answer.ts";

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
  readonly asked: AskedAnswer;
  readonly signal: AbortSignal;
}

/**
 * Headers of a request that are sent on. Others could mean something to the provider or to a gateway in front of it,
 * such as whose account pays.
 */
const PASSED_ON = /^(?:accept|content-type|user-agent|x-app|anthropic-.*|x-stainless-.*|x-claude-.*)$/;

/** Headers of an answer that belong to its connection or to the account. */
const NOT_RETURNED = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "content-encoding",
  "set-cookie",
]);

/** Forwards a request with the real credentials, and passes the answer back as it arrives. */
export async function forwardRequest(
  forwarded: Forwarded,
  { baseUrl, credentials, fetch: send = fetch }: Upstream,
): Promise<void> {
  const { request, response, body, path, signal, asked } = forwarded;
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
    if (gone.signal.aborted || signal.aborted) forwarded.onUsage(usageOfCut(asked));
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
  const headers = [...answer.headers].filter(([name]) => !NOT_RETURNED.has(name));
  response.writeHead(answer.status, Object.fromEntries(headers));
  if (!answer.body) return void response.end();
  const tap = tapAnswer(answer, forwarded);
  await pipeline(Readable.fromWeb(answer.body), tap, response).catch(() => response.destroy());
}

function passedOn({ headers }: IncomingMessage): Record<string, string> {
  const kept = Object.entries(headers).filter(([name, value]) => typeof value === "string" && PASSED_ON.test(name));
  return Object.fromEntries(kept) as Record<string, string>;
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
}
