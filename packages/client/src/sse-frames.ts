import { createParser } from "eventsource-parser";

/** One frame of a stream. */
export interface SseFrame {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads frames from bytes that arrive in pieces of any size. */
export async function* sseFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<SseFrame> {
  const complete: SseFrame[] = [];
  const parser = createParser({
    onEvent: ({ event = "message", id, data }) => complete.push({ event, id, data }),
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* complete.splice(0);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
