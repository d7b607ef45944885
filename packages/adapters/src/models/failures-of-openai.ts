import { ModelFailure, parsedOrUndefined } from "@skein/core";
import { isJsonObject } from "@skein/protocol";
import type { Answer } from "./http-request.ts";

/** An error in the format of OpenAI's APIs. Most compatible servers use this format. */
interface ToldError {
  readonly message?: unknown;
  readonly type?: unknown;
  readonly code?: unknown;
}

/** Converts the response to a rejected request to a failure, without the API key and the request headers. */
export function rejectedRequest({ status, headers }: Pick<Answer, "status" | "headers">, text: string): ModelFailure {
  const told = toldError(parsedOrUndefined(text));
  const code = codeOf(status, told);
  return new ModelFailure(
    { code, message: told ? sentenceOf(told) : rejection(status, headers, text), status },
    { retryable: isRetryable(status, code), retryAfterMs: retryAfterOf(headers) },
  );
}

/** Returns an error text for a rejected request, if the server's response has no error in OpenAI's format. */
export function rejection(status: number, headers: Answer["headers"], text: string): string {
  const told = `The model's server answered with status ${status}`;
  const target = headers.get("location")?.replace(/\?.*/, "");
  if (status < 400 && target !== undefined)
    return `${told}: it redirects to ${target}. Redirects are not followed. Set the address to which it redirects.`;
  return isWebPage(headers) || text.trim() === "" ? `${told}.` : `${told}: ${beginning(text)}`;
}

const MOST_SHOWN = 300;

function beginning(text: string): string {
  const shown = text.trim();
  return shown.length > MOST_SHOWN ? `${shown.slice(0, MOST_SHOWN).toWellFormed()} …` : shown;
}

/** Converts an error that ends the stream to a failure. */
export function streamFailure(error: unknown): ModelFailure {
  const told = toldError({ error }) ?? {};
  const status = statusIn(told);
  const code = codeOf(status, told);
  return new ModelFailure({ code, message: sentenceOf(told) }, { retryable: isRetryable(status, code) });
}

/**
 * Returns the HTTP status from the error's code. Some servers send the status as this code, if an error happens after
 * the response has begun.
 */
function statusIn({ code }: ToldError): number | undefined {
  const status = Number(code ?? Number.NaN);
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}

/** Returns the failure for a response with status 200 that is not a stream of events. */
export function notStreamed(text: string): ModelFailure {
  const body = parsedOrUndefined(text);
  const told = toldError(body);
  if (told) {
    const { failure, retryable } = streamFailure(told);
    return new ModelFailure(failure, { retryable, mostRetries: 1 });
  }
  const isAnswer = isJsonObject(body);
  const what = isAnswer ? "one JSON document" : `a text (${JSON.stringify(beginning(text))})`;
  return new ModelFailure(
    {
      code: "no_model",
      message: `The server answered with ${what} instead of a stream of events. Check the address of the model, and that its server can stream.`,
    },
    // The server may have charged for a complete answer.
    { retryable: !isAnswer, mostRetries: 1 },
  );
}

/** Converts the error of a request to a failure for the log. */
export function brokenRequest(error: unknown): unknown {
  if (error instanceof ModelFailure || !(error instanceof Error) || error.name === "AbortError") return error;
  if (error.name !== "TypeError" && error.name !== "SyntaxError") return error;
  if (isBroken(error)) return cutStream();
  return new ModelFailure(
    { code: "stream_broken", message: `The model's answer could not be read: ${error.message}` },
    { retryable: true },
  );
}

/** Recognises the error of `httpRequest` and `fetch` for a connection that broke during the response. */
export function isBroken(error: unknown): boolean {
  return error instanceof TypeError && error.message === "terminated";
}

/** Returns the failure for a stream that ended before the provider ended the answer. */
export function cutStream(): ModelFailure {
  return new ModelFailure(
    { code: "stream_cut", message: "The model's answer was cut off before its end." },
    { retryable: true },
  );
}

/** Rejects a web page, which comes from a wrong address or from a proxy. */
export function checkStream({ headers }: Pick<Answer, "headers">, url: string): void {
  if (!isWebPage(headers)) return;
  throw new ModelFailure(
    { code: "no_model", message: `A web page answered at ${url}, not a model. Check the address of the model.` },
    { retryable: true, mostRetries: 1 },
  );
}

function isWebPage(headers: Answer["headers"]): boolean {
  return (headers.get("content-type") ?? "").startsWith("text/html");
}

/** Returns the error in OpenAI's format. Servers in Python send `message` or `detail` instead. */
function toldError(body: unknown): ToldError | undefined {
  if (!isJsonObject(body)) return undefined;
  const { error, message, detail } = body;
  const told = [error, message, detail].find((each) => typeof each === "string" && each !== "");
  if (isJsonObject(error)) return error;
  return told === undefined ? undefined : { ...body, message: told };
}

function sentenceOf({ message }: ToldError): string {
  return typeof message === "string" && message !== "" ? message : "The model's answer ended with an error.";
}

/** Returns a code by which the loop decides how to handle a failure. */
function codeOf(status: number | undefined, told: ToldError | undefined): string {
  const [code, type] = [told?.code, told?.type].map((value) => (typeof value === "string" ? value : ""));
  const message = typeof told?.message === "string" ? told.message : "";
  if (code === "context_length_exceeded" || /context (?:length|window)|maximum context/i.test(message))
    return "context_window_exceeded";
  if (code === "insufficient_quota" || type === "insufficient_quota" || status === 402) return "billing_error";
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 404) return "not_found_error";
  if (status === 429 || code === "rate_limit_exceeded") return "rate_limit_error";
  if (status === 503 || /overloaded/i.test(`${code} ${type} ${message}`)) return "overloaded_error";
  if (status !== undefined && status < 500) return code || type || "invalid_request_error";
  return code || type || "api_error";
}

const RETRYABLE_CODES = new Set(["api_error", "overloaded_error", "rate_limit_error", "server_error", "timeout"]);

function isRetryable(status: number | undefined, code: string): boolean {
  if (code === "billing_error" || code === "context_window_exceeded") return false;
  if (status === undefined) return RETRYABLE_CODES.has(code);
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** Returns the wait time that the server asks for, in milliseconds. */
export function retryAfterOf(headers: Pick<Answer["headers"], "get">): number | undefined {
  const ms = Number(headers.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(ms) && ms > 0) return ms;
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const wait = Number.isFinite(Number(text)) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(wait) && wait > 0 ? wait : undefined;
}
