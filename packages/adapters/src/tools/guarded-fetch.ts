import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import { type GuardedRequestOptions, checkUrl, guardedLookup } from "./guarded-request.ts";
import { isPublicAddress } from "./public-address.ts";

/** `fetch` for texts, to addresses that were checked and to those very ones. Redirects are handed back, not followed. */
export function guardedFetch(
  places: Pick<GuardedRequestOptions, "allowsAddress" | "allowsPort" | "lookup">,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  const { allowsAddress = isPublicAddress } = places;
  const lookup = guardedLookup(allowsAddress, places.lookup);
  return async (given, init = {}) => {
    const url = new URL(given);
    checkUrl(url, places);
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !allowsAddress(host)) throw new Error(`${host} is not a place on the public internet.`);
    const { method = "GET", headers, body, signal } = init;
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      const sent = send(
        url,
        {
          method,
          lookup,
          headers: { ...Object.fromEntries(new Headers(headers)), "accept-encoding": "identity" },
          // A connection that was kept open would not be checked again.
          agent: false,
          ...(signal && { signal }),
        },
        (answer) => {
          const { statusCode: status = 502, statusMessage = "" } = answer;
          const isEmpty = status === 204 || status === 304;
          const kept = Object.entries(answer.headers).flatMap(([name, value]) =>
            typeof value === "string" ? [[name, value] as [string, string]] : [],
          );
          if (isEmpty) answer.resume();
          const stream = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
          resolve(new Response(stream, { status, statusText: statusMessage, headers: kept }));
        },
      );
      sent.on("error", reject);
      sent.end(typeof body === "string" ? body : undefined);
    });
  };
}
