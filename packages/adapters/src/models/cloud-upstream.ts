import { ModelFailure, createReply } from "@skein/core";
import type { JsonObject, ModelStreamEvent } from "@skein/protocol";
import { createParser } from "eventsource-parser";
import type { Upstream } from "../sandboxes/model-broker/upstream.ts";
import { asFailure, errorEvent } from "./anthropic/failures.ts";
import type { MessagesSender } from "./anthropic/index.ts";
import type { Answer } from "./http-request.ts";

/**
 * Lets a program use a model in a cloud through the Messages API. `send` only streams, so this code assembles the
 * answer if the program asks for no stream.
 */
export function createCloudUpstream(send: MessagesSender): Upstream {
  return async ({ path, body: bytes, headers, signal }) => {
    if (new URL(path, "http://cloud").pathname !== "/v1/messages")
      return errorResponse(404, {
        code: "not_found_error",
        message: "The cloud provider of this model cannot count tokens.",
      });
    const { stream, ...body } = JSON.parse(new TextDecoder().decode(bytes)) as JsonObject;
    const betas = headers["anthropic-beta"];
    try {
      const answer = await send({
        body,
        encoded: () => new TextEncoder().encode(JSON.stringify({ ...body, stream: true })),
        headers: betas === undefined ? {} : { "anthropic-beta": betas },
        signal,
      });
      if (stream !== true) return Response.json(await wholeMessage(answer));
      return new Response(streamOf(answer), { headers: { "content-type": "text/event-stream" } });
    } catch (error) {
      const failed = asFailure(error);
      if (!(failed instanceof ModelFailure)) throw error;
      return errorResponse(failed.failure.status ?? 502, failed.failure, failed.retryAfterMs);
    }
  };
}

function streamOf({ body }: Answer): ReadableStream {
  return ReadableStream.from(body ?? []);
}

/** Assembles a message from the parts of a streamed answer. */
async function wholeMessage(answer: Answer): Promise<JsonObject> {
  const reply = createReply();
  let id: unknown;
  const decoder = new TextDecoder();
  const { feed } = createParser({
    onEvent({ data, event }) {
      if (event === "ping") return;
      if (event === "error") throw errorEvent(data);
      const told = JSON.parse(data) as ModelStreamEvent;
      if (told.type === "message_start") id = (told["message"] as JsonObject)["id"];
      reply.add(told);
    },
  });
  for await (const chunk of answer.body ?? []) feed(decoder.decode(chunk, { stream: true }));
  const { content, model, stopReason, usage } = reply.end();
  return {
    id,
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage,
  };
}

/** Returns an error in the format of the Messages API. */
function errorResponse(
  status: number,
  { code, message }: { readonly code: string; readonly message: string },
  retryAfterMs?: number,
): Response {
  const headers = retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
  return Response.json({ type: "error", error: { type: code, message } }, { status, headers });
}
