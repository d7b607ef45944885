import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import type { FuzzRequest } from "./requests.ts";
import type { ServedKeys } from "./start-server.ts";

/** The answer, or the reason why there was none. */
export interface FuzzAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly ms: number;
  /** Why no answer arrived: the time ran out or the connection broke. */
  readonly failure?: "hang" | "broken";
}

export interface Sending {
  send(request: FuzzRequest): Promise<FuzzAnswer>;
  close(): void;
}

const HANG_MS = 5000;
/** An SQL statement may run for 5 s, after its process has started. */
const SQL_HANG_MS = 10_000;
const BREATH_MS = 250;
/** How long a stream is read after its first byte. */
const STREAM_MS = 30;

/** Sends requests byte for byte, because `fetch` would reject or correct some of them. */
export function createSending(url: string, keys: ServedKeys): Sending {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);

  return {
    send: (request) =>
      new Promise((resolve) => {
        const started = performance.now();
        const { method, path, body } = request;
        const headers = { ...keyHeader(request, keys), ...request.headers, ...lengthOf(body) };
        const chunks: Buffer[] = [];
        let answer: IncomingMessage | undefined;
        const done = (failure?: FuzzAnswer["failure"]): void => {
          clearTimeout(timer);
          resolve({
            status: answer?.statusCode ?? 0,
            headers: answer?.headers ?? {},
            text: Buffer.concat(chunks).toString(),
            ms: performance.now() - started,
            ...(failure && { failure }),
          });
        };
        const sent = httpRequest({ hostname, port, method, path, headers, agent });
        // The time limit is checked twice. If only this process was blocked, the answer arrives before the second check.
        const hang = (): void => {
          done("hang");
          sent.destroy();
        };
        let timer = setTimeout(
          () => (timer = setTimeout(hang, BREATH_MS)),
          path.startsWith("/v1/sql") ? SQL_HANG_MS : HANG_MS,
        );
        sent.once("response", (response) => {
          answer = response;
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.once("end", () => done());
          response.once("error", () => done(response.complete ? undefined : "broken"));
          if (response.headers["content-type"]?.startsWith("text/event-stream"))
            setTimeout(() => {
              done();
              sent.destroy();
            }, STREAM_MS);
        });
        // The server may reject a request before the whole body was sent. In this case the answer counts, and the error
        // of the connection does not.
        sent.once("error", () => setTimeout(() => done(answer || isRefusedUnread(body) ? undefined : "broken"), 20));
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}

/**
 * Whether a broken connection counts as a rejection. The server rejects a body over the limit while it is still being
 * sent, and the system may then drop the answer before the client has read it.
 */
function isRefusedUnread(body: FuzzRequest["body"]): boolean {
  return body !== undefined && Buffer.byteLength(body) > 1024 * 1024;
}

function keyHeader({ sender }: FuzzRequest, keys: ServedKeys): Record<string, string> {
  if (sender === "nobody") return {};
  return { "x-api-key": sender === "stranger" ? "sk-nobody-knows-this-key" : (keys[sender] ?? keys.admin) };
}

function lengthOf(body: FuzzRequest["body"]): Record<string, string> {
  return body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
}
