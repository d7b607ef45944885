import type { MessagesRequest, MessagesSender } from "./anthropic/index.ts";
import { rejectedMessages } from "./anthropic/failures.ts";
import { checkStream } from "./failures-of-openai.ts";
import { sent } from "./stream-request.ts";

/** The methods of a cloud's official client that Skein uses. */
interface CloudClient {
  readonly messages: {
    create(
      body: never,
      options: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
    ): { asResponse(): Promise<Response> };
  };
}

/**
 * Sends requests through the official client of a cloud. The client adds the address, the format and the signature.
 * Reasons: decision 250 in docs/decisions.
 */
export function createCloudSender(client: CloudClient): MessagesSender {
  return ({ body, headers, signal }: MessagesRequest) =>
    client.messages.create({ ...body, stream: true } as never, { headers, signal }).asResponse();
}

/** Makes connections for a cloud's client in the same way as for other models. Failures then have the same messages. */
export function cloudFetch(hint: string, send: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    const response = await sent(url, init ?? {}, { send, rejected: rejectedMessages, hint });
    checkStream(response, url);
    return response;
  };
}
