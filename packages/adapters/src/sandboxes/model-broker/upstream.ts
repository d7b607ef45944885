import type { ModelPrice } from "@skein/protocol";

/** A request to a server that speaks the Messages API, without credentials. */
interface UpstreamRequest {
  /** Path and query. */
  readonly path: string;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Sends a request to the server of a model, with the real credentials. */
export type Upstream = (request: UpstreamRequest) => Promise<Response>;

/** A model with an address and a key of its own. */
export interface BrokeredModel {
  /** The name that its server has for the model. */
  readonly modelName: string;
  readonly upstream: Upstream;
  /** The price that the operator set for the model. If it is missing, the table of known prices is used. */
  readonly price?: ModelPrice | undefined;
  /** Abilities that the model lacks although Claude has them. */
  readonly lacks?: readonly ("caching" | "thinking")[];
}

/** The address and the credentials of a server that speaks the Messages API. */
export interface HttpUpstream {
  /** Such as `https://api.anthropic.com`. */
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
