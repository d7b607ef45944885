import { withoutSecrets } from "@skein/protocol";
import { errorAnswer } from "../http/api-error.ts";
import { type RequestContext, TAKEN_OVER } from "../request-context.ts";
import { type Sse, openSse } from "./sse.ts";
import type { StreamEnd } from "./open-streams.ts";
import { openStreamPlace } from "./stream-place.ts";

export interface StreamAnswer {
  /** Sends all frames except the last frame, and returns the last frame. */
  readonly send: (sse: Sse) => Promise<string>;
  /** Returns the last frame of a stream that the server ends. */
  readonly closing: (reason: StreamEnd) => string | undefined;
}

/**
 * Answers a request with a stream. The stream counts as a stream of its key, and is closed when the key is revoked. The
 * limit of streams is checked before the requested work begins, so that a rejected request has no effect.
 */
export async function answerWithStream(
  call: RequestContext,
  begin: () => StreamAnswer | Promise<StreamAnswer>,
): Promise<typeof TAKEN_OVER> {
  const { shared, principal, reply } = call;
  const giveBack = openStreamPlace(call);
  try {
    const { send, closing } = await begin();
    // The content of the request is stored, so the memory for its body is released while the stream is open.
    call.request.bodyDone();
    reply.hijack();
    const headers = Object.fromEntries(
      Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]),
    );
    const sse = openSse({ response: reply.raw, headers, limits: shared.limits, onCut: shared.metrics.cut });
    const remove = shared.streams.add({ principal, close: (reason) => sse.end(closing(reason)) });
    await send(sse)
      .then((last) => sse.end(last))
      // The reader reconnects, and its next request gets the error.
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
