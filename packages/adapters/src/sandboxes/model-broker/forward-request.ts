import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { renameModel } from "./rename-model.ts";
import type { Upstream } from "./upstream.ts";
import { type AnswerTap, tapAnswer } from "./usage-of-answer.ts";

export interface Forwarded extends AnswerTap {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Path and query. */
  readonly path: string;
  readonly signal: AbortSignal;
  /** The name that the program has for the model, if its server has another one: the answer gets this name. */
  readonly nameInAnswer?: string | undefined;
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

/** Sends a request on with the real credentials, and the answer back as it comes. */
export async function forwardRequest(forwarded: Forwarded, upstream: Upstream): Promise<void> {
  const { request, response, body, path, signal, nameInAnswer } = forwarded;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  let answer: Response;
  try {
    answer = await upstream({
      path,
      body,
      // Plain bytes: the usage in them is read on the way.
      headers: { ...passedOn(request), "accept-encoding": "identity" },
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
  const type = answer.headers.get("content-type") ?? "";
  const renamed = nameInAnswer === undefined ? new PassThrough() : renameModel(type, nameInAnswer);
  await pipeline(Readable.fromWeb(answer.body), renamed, tapAnswer(type, forwarded), response).catch(() =>
    response.destroy(),
  );
}

function passedOn({ headers }: IncomingMessage): Record<string, string> {
  const kept = Object.entries(headers).filter(([name, value]) => typeof value === "string" && !NOT_PASSED_ON.has(name));
  return Object.fromEntries(kept) as Record<string, string>;
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
}
