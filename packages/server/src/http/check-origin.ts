import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { ApiError } from "./api-error.ts";

export interface OriginOptions {
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}

/** A valid Host header: a name or an IP address, with or without a port. */
const HOST = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
const OWN = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Rejects requests that a page of another site can make a browser send: requests with a foreign Origin, or with a
 * foreign Host (the other site's name, which its owner made DNS resolve to this machine). Returns a foreign Origin
 * that the operator allowed, because pages of this Origin may read the response. Returns null in all other cases.
 */
export function checkOrigin(
  headers: IncomingHttpHeaders,
  { allowedHosts, allowedOrigins }: OriginOptions,
): string | null {
  const host = headers.host ?? "";
  const name = HOST.exec(host)?.[1]?.toLowerCase();
  if (name === undefined || (!OWN.includes(name) && !allowedHosts.includes(name)))
    throw new ApiError(
      "forbidden",
      "The Host header does not name this server. The operator allows host names with SKEIN_ALLOWED_HOSTS.",
    );
  const { origin } = headers;
  if (origin === undefined) return null;
  if (origin === `http://${host}` || origin === `https://${host}`) return null;
  if (allowedOrigins.includes(origin)) return origin;
  throw new ApiError(
    "forbidden",
    "Pages of this Origin may not call this server. The operator allows origins with SKEIN_ALLOWED_ORIGINS.",
  );
}

/** Rejects requests that a proxy in front of this server may have understood differently. */
export function checkForm({ url = "", headers }: IncomingMessage): void {
  if (!url.startsWith("/") && url !== "*" && URL.parse(url)?.host !== headers.host)
    throw new ApiError("malformed", "The URL in the request line names another host than the Host header.");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    throw new ApiError("malformed", "Transfer-Encoding: Expected chunked and nothing else.");
}

/**
 * The subprotocol of `/v1/ws`, and the prefix of the subprotocol that carries a key. Browsers cannot set headers on a
 * WebSocket, and addresses end up in logs. If the key came in the first message, strangers could keep sockets open for
 * seconds.
 */
export const SOCKET_PROTOCOL = "skein";
const KEY_PROTOCOL = "skein-key.";

/** Returns the key of a request. Rejects requests with several keys or several Host headers. */
export function keyIn(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): string | undefined {
  let [given, hosts] = [0, 0];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (isKeyHeader(name)) given += 1;
    if (name.length === "host".length && name.toLowerCase() === "host") hosts += 1;
  }
  // A proxy in front of this server may have checked a different Host header.
  if (hosts > 1) throw new ApiError("malformed", "The request has several Host headers. Expected one.");
  if (given > 1)
    throw new ApiError("malformed", "The request has several keys. Expected one, in Authorization or in X-API-Key.");
  const header = headers["x-api-key"];
  if (typeof header === "string") return header;
  // Browsers cannot set headers on a WebSocket, only the list of subprotocols.
  const offered = headers["sec-websocket-protocol"]?.split(",").map((name) => name.trim());
  const inProtocol = offered?.find((name) => name.startsWith(KEY_PROTOCOL));
  if (inProtocol !== undefined) return inProtocol.slice(KEY_PROTOCOL.length);
  return /^Bearer ([\x21-\x7e]{1,500})$/i.exec(headers.authorization ?? "")?.[1];
}

/** Compares lengths first, because that is cheap and rules out most headers. */
function isKeyHeader(name: string): boolean {
  if (name.length !== "x-api-key".length && name.length !== "authorization".length) return false;
  const lower = name.toLowerCase();
  return lower === "x-api-key" || lower === "authorization";
}
