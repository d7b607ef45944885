import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { type LookupFunction, isIP } from "node:net";
import { isPublicAddress } from "./public-address.ts";

export interface GuardedRequestOptions {
  /** Decides which addresses may be called. */
  readonly allowsAddress?: (address: string) => boolean;
  readonly allowsPort?: (port: number) => boolean;
  /** Resolves names. Default: the system. */
  readonly lookup?: typeof systemLookup;
  readonly timeoutMs?: number;
  /** The most bytes of a body that are read. */
  readonly maxBytes?: number;
  /** If set, the request is a POST with this body, instead of a GET. */
  readonly post?: { readonly headers: Readonly<Record<string, string>>; readonly body: string };
}

export interface Fetched {
  readonly status: number;
  readonly contentType: string;
  readonly location: string | undefined;
  readonly body: Uint8Array;
  /** Whether the body was longer than the part that was read. */
  readonly cut: boolean;
}

const PORTS = new Set([80, 443, 8080, 8443]);

/**
 * Sends a request to a URL from an untrusted source. A name is resolved once, its address is checked, and the
 * connection goes to exactly that address, so the name cannot resolve to another address later. Redirects are returned,
 * not followed.
 */
export async function guardedRequest(url: URL, options: GuardedRequestOptions, signal: AbortSignal): Promise<Fetched> {
  const { allowsAddress = isPublicAddress, timeoutMs = 20_000, maxBytes = 1024 * 1024 } = options;
  checkUrl(url, options);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // An IP address in the URL is never looked up, so it is checked here.
  if (isIP(host) !== 0 && !allowsAddress(host)) throw notAllowed(url);
  const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const lookup = guardedLookup(allowsAddress, options.lookup);
  const response = await send(url, { lookup, post: options.post }, stop);
  const { headers, statusCode: status = 0 } = response;
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") {
    response.destroy();
    throw new Error(
      `The answer is compressed (${encoding.slice(0, 50)}), although the request did not allow compression.`,
    );
  }
  const { body, cut } = await readBody(response, maxBytes);
  return { status, contentType: headers["content-type"] ?? "", location: headers.location, body, cut };
}

/**
 * Rejects a URL without a lookup of its name. It checks the scheme, the port, and that the URL has no user name or
 * password.
 */
export function checkUrl(
  url: URL,
  { allowsPort = (port) => PORTS.has(port) }: Pick<GuardedRequestOptions, "allowsPort">,
): void {
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new Error("Only http and https can be fetched.");
  if (url.username !== "" || url.password !== "") throw new Error("A URL with a user name or password is not fetched.");
  const port = url.port === "" ? (url.protocol === "http:" ? 80 : 443) : Number(url.port);
  if (!allowsPort(port)) throw new Error(`Port ${port} is not allowed.`);
}

/** Resolves names only to allowed addresses. */
export function guardedLookup(
  allowsAddress: (address: string) => boolean,
  lookup: typeof systemLookup = systemLookup,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return callback(error, "", 0);
      const [first] = found;
      // A name with both a public and a private address is rejected as a possible attack.
      if (!first || !found.every(({ address }) => allowsAddress(address)))
        return callback(new Error(`${hostname} is not an address of the public internet.`), "", 0);
      return options.all ? callback(null, [first]) : callback(null, first.address, first.family);
    });
  };
}

function send(
  url: URL,
  { lookup, post }: { lookup: LookupFunction; post: GuardedRequestOptions["post"] },
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const headers = {
      "accept-encoding": "identity",
      accept: "text/*, application/json;q=0.9, */*;q=0.1",
      "user-agent": "skein",
      ...post?.headers,
    };
    const method = post ? "POST" : "GET";
    // No connection is reused, because it would not be checked again.
    const sent = request(url, { method, lookup, headers, signal, agent: false, maxHeaderSize: 16_384 }, resolve);
    sent.on("error", (error) => reject(signal.aborted ? new Error("The fetch took too long or was stopped.") : error));
    sent.end(post?.body);
  });
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<{ body: Uint8Array; cut: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > maxBytes) break;
  }
  response.destroy();
  return { body: new Uint8Array(Buffer.concat(chunks)).subarray(0, maxBytes), cut: size > maxBytes };
}

function notAllowed(url: URL): Error {
  return new Error(`${url.hostname} is not an address of the public internet.`);
}
