import { withoutSecrets } from "@skein/protocol";
import { errorAnswer } from "../http/api-error.ts";
import { type RequestContext, TAKEN_OVER } from "../request-context.ts";
import { type Sse, openSse } from "./sse.ts";
import type { StreamEnd } from "./open-streams.ts";

export interface StreamAnswer {
  /** Sends until there is no more; answers the last frame. */
  readonly send: (sse: Sse) => Promise<string>;
  /** The last frame, if the server ends the stream. */
  readonly closing: (reason: StreamEnd) => string | undefined;
}

/**
 * Answers a request with a stream: one of its key, closed with it. What is asked for begins once the key may have one
 * stream more: otherwise it would be begun, and nobody would know of it.
 */
export async function answerWithStream(
  call: RequestContext,
  begin: () => StreamAnswer | Promise<StreamAnswer>,
): Promise<typeof TAKEN_OVER> {
  const { shared, principal, reply } = call;
  const giveBack = shared.meter.stream(principal.keyId);
  try {
    const { send, closing } = await begin();
    reply.hijack();
    const headers = Object.fromEntries(
      Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]),
    );
    const sse = openSse({ response: reply.raw, headers, limits: shared.limits, onCut: shared.metrics.cut });
    const remove = shared.streams.add({ principal, close: (reason) => sse.end(closing(reason)) });
    await send(sse)
      .then((last) => sse.end(last))
      // The reader comes back by itself and goes on where it was; what is wrong will be said to its next request.
      .catch((error: unknown) => {
        const { isBug } = errorAnswer(error, call.request.id);
        if (isBug)
          shared.deps.log?.({ level: "error", request_id: call.request.id, message: withoutSecrets(String(error)) });
        reply.raw.destroy();
      })
      .finally(remove);
  } finally {
    giveBack();
  }
  return TAKEN_OVER;
}
