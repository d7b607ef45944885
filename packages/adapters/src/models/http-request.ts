import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";
import { type LargeBody, isLargeBody } from "./large-body.ts";

/** An HTTP response. A `Response` of `fetch` fits this type. */
export interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: AsyncIterable<Uint8Array> | null;
  text(): Promise<string>;
}

interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | LargeBody;
  readonly signal?: AbortSignal;
}

/** Makes a request with `httpRequest` or with a `fetch`. */
type Sender = (url: string, request: HttpRequest & { readonly redirect: "manual" }) => Promise<Answer>;

/** Returns a sender that uses the given `fetch`. Default: `httpRequest`. */
export function senderOf(fetch: typeof globalThis.fetch | undefined): Sender {
  if (!fetch) return httpRequest;
  return (url, { body, headers, ...request }) => {
    if (!isLargeBody(body)) return fetch(url, { ...request, headers, body });
    const stream: RequestInit & { readonly duplex: "half" } = {
      ...request,
      headers: { ...headers, "content-length": String(body.length) },
      body: ReadableStream.from(body.pieces()),
      duplex: "half",
    };
    return fetch(url, stream);
  };
}

/** If a machine has not accepted the connection after this time, it counts as unreachable. */
const CONNECT_MS = 10_000;

/**
 * Makes a request with Node's HTTP client, over connections that stay open. Does not follow redirects. Throws errors in
 * the form of `fetch`. `fetch` needs twice the processor time, mostly for its streams.
 */
export async function httpRequest(url: string, { method, body, headers, signal }: HttpRequest): Promise<Answer> {
  const send = url.startsWith("https:") ? requestHttps : requestHttp;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = send(url, {
      method,
      headers: {
        accept: "*/*",
        "accept-encoding": "identity",
        "user-agent": "skein",
        ...headers,
        "content-length": String(isLargeBody(body) ? body.length : Buffer.byteLength(body)),
      },
    });
    sent.once("response", resolve);
    // The listener stays after the response, because an error without a listener would end the process. A reader of the
    // body also gets the error.
    sent.on("error", (error) =>
      reject(signal?.aborted ? signal.reason : new TypeError("fetch failed", { cause: error })),
    );
    // Node's `signal` option would need an eighth of the request's processor time, so this code aborts the request
    // itself.
    const abort = (): void => void sent.destroy(new Error("The request was aborted."));
    signal?.addEventListener("abort", abort);
    sent.once("close", () => signal?.removeEventListener("abort", abort));
    if (signal?.aborted) abort();
    sent.once("socket", (socket) => {
      if (!socket.connecting) return;
      const slow = setTimeout(() => sent.destroy(connectTimeout()), CONNECT_MS).unref();
      socket.once("connect", () => clearTimeout(slow)).once("close", () => clearTimeout(slow));
    });
    if (isLargeBody(body)) Readable.from(body.pieces()).pipe(sent);
    else sent.end(body);
  });
  const { statusCode: status = 0 } = response;
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: { get: (name) => response.headers[name]?.toString() ?? null },
    body: chunksOf(response, signal),
    async text() {
      const chunks: Uint8Array[] = [];
      for await (const chunk of chunksOf(response, signal)) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    },
  };
}

async function* chunksOf(response: IncomingMessage, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  try {
    yield* response as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw signal?.aborted ? signal.reason : new TypeError("terminated", { cause: error });
  }
}

function connectTimeout(): Error {
  return Object.assign(new Error("The connection was not made in time."), { code: "ETIMEDOUT" });
}
