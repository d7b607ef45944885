import { isIP } from "node:net";
import { checkUrl, guardedRequest, isPublicAddress } from "@skein/adapters/tools";
import type { WebhookSender } from "@skein/server";

const TIMEOUT_MS = 10_000;
/** What is read of an answer: only its status matters. */
const ANSWER_BYTES = 4096;

/**
 * Sends to the public internet, and to what the operator allowed by address. The address is checked when the
 * connection is made, redirects are not followed.
 */
export function createWebhookSender({
  allowedAddresses,
}: {
  readonly allowedAddresses: readonly string[];
}): WebhookSender {
  const allowsAddress = (address: string): boolean => allowedAddresses.includes(address) || isPublicAddress(address);
  const allowsPort = allowedAddresses.length > 0 ? () => true : undefined;
  const options = { allowsAddress, ...(allowsPort && { allowsPort }) };

  return {
    problemWith(text) {
      if (!URL.canParse(text)) return "This is no URL.";
      const url = new URL(text);
      const host = url.hostname.replace(/^\[|\]$/g, "");
      try {
        checkUrl(url, options);
      } catch (error) {
        return (error as Error).message;
      }
      if (isIP(host) !== 0 && !allowsAddress(host)) return `${host} is not a place on the public internet.`;
      if (/(^|\.)(localhost|local|internal)\.?$/i.test(host)) return `${host} is not a place on the public internet.`;
      return undefined;
    },
    async send(url, post) {
      const never = new AbortController().signal;
      const request = { ...options, post, timeoutMs: TIMEOUT_MS, maxBytes: ANSWER_BYTES };
      return (await guardedRequest(new URL(url), request, never)).status;
    },
  };
}
