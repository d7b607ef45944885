/** One frame of a stream. */
export interface SseFrame {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads frames from bytes that arrive in pieces of any size. */
export async function* sseFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<SseFrame> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  let lines: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      text += done ? decoder.decode() : decoder.decode(value, { stream: true });
      // A carriage return at the end may be the first half of a line break, as long as more can come.
      const end = text.endsWith("\r") && !done ? text.length - 1 : text.length;
      const parts = text.slice(0, end).split(/\r\n|\n|\r/);
      text = (parts.pop() ?? "") + text.slice(end);
      for (const line of parts) {
        if (line !== "") {
          lines.push(line);
          continue;
        }
        const frame = frameOf(lines);
        lines = [];
        if (frame) yield frame;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function frameOf(lines: readonly string[]): SseFrame | undefined {
  let event = "message";
  let id: string | undefined;
  const data: string[] = [];
  for (const line of lines) {
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") event = value;
    if (field === "id") id = value;
    if (field === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { event, id, data: data.join("\n") };
}
