import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { renameModel } from "./rename-model.ts";
import type { Upstream } from "./upstream.ts";
import { type AnswerTap, type AskedAnswer, tapAnswer, usageOfCut } from "./usage-of-answer.ts";

export interface Forwarded extends AnswerTap {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Path and query. */
  readonly path: string;
  readonly asked: AskedAnswer;
  readonly signal: AbortSignal;
  /** The model's name for the program, if its server uses another name. It replaces the server's name in the answer. */
  readonly nameInAnswer?: string | undefined;
}

/**
 * The headers of a request that are forwarded. Another header could have a meaning for the provider or a gateway, for
 * example which account pays.
 */
const PASSED_ON = /^(?:accept|content-type|user-agent|x-app|anthropic-.*|x-stainless-.*|x-claude-.*)$/;

/** The headers of an answer that are removed, because they are about the connection or the account. */
const NOT_RETURNED = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "content-encoding",
  "set-cookie",
]);

/** Forwards a request with the real credentials. Streams the answer back. */
export async function forwardRequest(forwarded: Forwarded, upstream: Upstream): Promise<void> {
  const { request, response, body, path, signal, asked, nameInAnswer } = forwarded;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  let answer: Response;
  try {
    answer = await upstream({
      path,
      body,
      // The answer must not be compressed, because its usage is read on the way.
      headers: { ...passedOn(request), "accept-encoding": "identity" },
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
  const type = answer.headers.get("content-type") ?? "";
  const renamed = nameInAnswer === undefined ? new PassThrough() : renameModel(type, nameInAnswer);
  await pipeline(Readable.fromWeb(answer.body), renamed, tapAnswer(answer, forwarded), response).catch(() =>
    response.destroy(),
  );
}

function passedOn({ headers }: IncomingMessage): Record<string, string> {
  const kept = Object.entries(headers).filter(([name, value]) => typeof value === "string" && PASSED_ON.test(name));
  return Object.fromEntries(kept) as Record<string, string>;
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? message;
}
