import { createParser } from "eventsource-parser";

/** One frame of a stream of server-sent events (SSE). */
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
  let endsInCarriageReturn = false;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const text = done ? "" : decoder.decode(value, { stream: true });
      // A carriage return ends a line, and the parser waits for the line feed that may follow it. At the end of the
      // stream no line feed follows, so the parser adds one.
      parser.feed(done && endsInCarriageReturn ? "\n" : text);
      if (text !== "") endsInCarriageReturn = text.endsWith("\r");
      yield* complete.splice(0);
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
