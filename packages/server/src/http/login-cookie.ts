import type { IncomingHttpHeaders } from "node:http";
import { LOGIN_SECONDS } from "../logins.ts";
import { ApiError } from "./api-error.ts";

const VALUE = /^[\w-]{43}$/;

/**
 * Returns the login of a request if its cookie may be used. Browsers send cookies even with requests from pages of
 * another origin. A GET from another origin is answered as if it had no cookie. Any other request from another origin
 * is rejected.
 */
export function loginIn(headers: IncomingHttpHeaders, method: string): string | undefined {
  const value = cookieIn(headers);
  if (value === undefined) return undefined;
  const site = headers["sec-fetch-site"];
  const isReading = (method === "GET" || method === "HEAD") && headers.upgrade === undefined;
  if (isReading) return site === undefined || site === "same-origin" || site === "none" ? value : undefined;
  if (headers.upgrade === undefined && site === "same-origin") return value;
  if (isOwnOrigin(headers)) return value;
  throw new ApiError(
    "forbidden",
    "A request with the login cookie must come from a page of this server. Send an API key instead.",
  );
}

/** The value of the login cookie, without a check of the request's origin. */
export function cookieIn(headers: IncomingHttpHeaders): string | undefined {
  const prefix = `${nameOf(headers)}=`;
  const pair = headers.cookie?.split(";").find((one) => one.trimStart().startsWith(prefix));
  const value = pair?.trim().slice(prefix.length);
  return value !== undefined && VALUE.test(value) ? value : undefined;
}

/** Returns the value of the Set-Cookie header that stores a login in a browser. An empty value removes the login. */
export function loginCookie(headers: IncomingHttpHeaders, value: string): string {
  const age = value === "" ? 0 : LOGIN_SECONDS;
  // This server has no TLS. If the page's origin is https, a proxy in front of this server has TLS.
  const secure = headers.origin?.startsWith("https://") ? "; Secure" : "";
  return `${nameOf(headers)}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${age}${secure}`;
}

/** The cookie's name contains the port, because browsers send a cookie to every port of a host. */
function nameOf({ host = "" }: IncomingHttpHeaders): string {
  const port = /:(\d+)$/.exec(host)?.[1];
  return port === undefined ? "skein" : `skein-${port}`;
}

function isOwnOrigin({ origin, host }: IncomingHttpHeaders): boolean {
  return origin !== undefined && (origin === `http://${host}` || origin === `https://${host}`);
}
