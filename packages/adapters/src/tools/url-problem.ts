import { isIP } from "node:net";
import { type GuardedRequestOptions, checkUrl } from "./guarded-request.ts";
import { isPublicAddress } from "./public-address.ts";

/** Returns rules that allow the public internet, and the addresses that the operator allowed. */
export function placesWith(
  allowedAddresses: readonly string[],
): Pick<GuardedRequestOptions, "allowsAddress" | "allowsPort"> {
  return {
    allowsAddress: (address) => allowedAddresses.includes(address) || isPublicAddress(address),
    ...(allowedAddresses.length > 0 && { allowsPort: () => true }),
  };
}

/**
 * Returns why a URL may never be called, as a sentence, or undefined if it may be called. Does not resolve the name in
 * the URL.
 */
export function urlProblem(
  text: string,
  places: Pick<GuardedRequestOptions, "allowsAddress" | "allowsPort">,
): string | undefined {
  const { allowsAddress = isPublicAddress } = places;
  if (!URL.canParse(text)) return "This is not a URL.";
  const url = new URL(text);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  try {
    checkUrl(url, places);
  } catch (error) {
    return (error as Error).message;
  }
  if (isIP(host) !== 0 && !allowsAddress(host)) return `${host} is not an address of the public internet.`;
  if (/(^|\.)(localhost|local|internal)\.?$/i.test(host)) return `${host} is not an address of the public internet.`;
  return undefined;
}
