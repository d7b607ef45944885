import { guardedRequest, placesWith, urlProblem } from "@skein/adapters/tools";
import type { WebhookSender } from "@skein/server";

const TIMEOUT_MS = 10_000;
/** The most bytes that are read of a response. The sender uses only its status. */
const ANSWER_BYTES = 4096;

/**
 * Sends to public addresses, and to private addresses that the operator allowed. Checks the address when the connection
 * is made. Does not follow redirects.
 */
export function createWebhookSender({
  allowedAddresses,
}: {
  readonly allowedAddresses: readonly string[];
}): WebhookSender {
  const places = placesWith(allowedAddresses);
  return {
    problemWith: (url) => urlProblem(url, places),
    async send(url, post) {
      const never = new AbortController().signal;
      const request = { ...places, post, timeoutMs: TIMEOUT_MS, maxBytes: ANSWER_BYTES };
      return (await guardedRequest(new URL(url), request, never)).status;
    },
  };
}
