import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import { type GuardedRequestOptions, checkUrl, guardedLookup } from "./guarded-request.ts";
import { isPublicAddress } from "./public-address.ts";

/**
 * Returns a `fetch` for addresses from an untrusted source. HTTP responses are streamed. A name is resolved once, its
 * address is checked, and the connection goes to exactly that address. Redirects are returned, not followed. Bodies of
 * requests are text, bytes or streams.
 */
export function createGuardedFetch(
  places: Pick<GuardedRequestOptions, "allowsAddress" | "allowsPort" | "lookup">,
): typeof globalThis.fetch {
  const { allowsAddress = isPublicAddress } = places;
  // These HTTP agents reuse connections. The address of a connection was checked when the connection was made.
  const options = { keepAlive: true, lookup: guardedLookup(allowsAddress, places.lookup) };
  const [plain, encrypted] = [new HttpAgent(options), new HttpsAgent(options)];

  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    checkUrl(url, places);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    // An IP address in the URL is never looked up, so it is checked here.
    if (isIP(host) !== 0 && !allowsAddress(host)) throw new TypeError(`Connections to ${host} are not allowed.`);
    const { method = "GET", body, signal } = init;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const isEncrypted = url.protocol === "https:";
      const sent = (isEncrypted ? requestHttps : requestHttp)(
        url,
        {
          method,
          agent: isEncrypted ? encrypted : plain,
          headers: Object.fromEntries(new Headers(init.headers)),
          ...(signal && { signal }),
        },
        resolve,
      );
      // As in `fetch`, the reason of a failed connection is the `cause` of the error.
      sent.on("error", (error) => reject(signal?.aborted ? error : new TypeError("fetch failed", { cause: error })));
      if (body instanceof ReadableStream) void pipeline(Readable.fromWeb(body), sent).catch(reject);
      else sent.end(body);
    });
    const { statusCode: status = 500, headers } = response;
    const shown = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const stream = Readable.toWeb(response) as WebStream<Uint8Array>;
    return new Response(EMPTY.has(status) ? null : stream, { status, headers: Object.fromEntries(shown) });
  };
}

/** HTTP statuses whose responses have no body. */
const EMPTY: ReadonlySet<number> = new Set([101, 204, 205, 304]);
