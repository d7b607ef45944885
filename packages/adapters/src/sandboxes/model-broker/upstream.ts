import type { ModelPrice } from "@skein/protocol";

/** A request to a server with the Messages API. It has no credentials. */
interface UpstreamRequest {
  /** Path and query. */
  readonly path: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Sends a request to a model's server, with the real credentials. */
export type Upstream = (request: UpstreamRequest) => Promise<Response>;

/** A model with a separate address and key. */
export interface BrokeredModel {
  /** The server's name for the model. */
  readonly modelName: string;
  readonly upstream: Upstream;
  /** The operator's price. Default: the price in the table of known prices. */
  readonly price?: ModelPrice | undefined;
  /** The abilities of Claude that the model does not have. */
  readonly lacks?: readonly ("caching" | "thinking")[];
}

/** The address and the credentials of a server with the Messages API. */
export interface HttpUpstream {
  /** Example: `https://api.anthropic.com`. */
  readonly baseUrl: string;
  /** The headers that carry the real credentials. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch | undefined;
}

export function createHttpUpstream({ baseUrl, credentials, fetch: send = fetch }: HttpUpstream): Upstream {
  const address = baseUrl.replace(/\/+$/, "");
  return ({ path, body, headers, signal }) =>
    send(`${address}${path}`, {
      method: "POST",
      headers: { ...headers, ...credentials },
      body,
      redirect: "manual",
      signal,
    });
}
