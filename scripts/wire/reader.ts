/** A frame of a stream, and the time at which it arrived. */
interface Frame {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
  readonly at: number;
}

/** A stream that is read with Node's `fetch`. */
export interface Reader {
  readonly frames: readonly Frame[];
  /** The arrival time of each keep-alive comment. */
  readonly comments: readonly number[];
  /** Why the stream ended unexpectedly. */
  readonly ended: () => string | undefined;
  close(): void;
}

export async function readStream(url: string, headers: Readonly<Record<string, string>>): Promise<Reader> {
  const stop = new AbortController();
  const answer = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: stop.signal });
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  const frames: Frame[] = [];
  const comments: number[] = [];
  let ended: string | undefined;
  const read = async (): Promise<void> => {
    let rest = "";
    for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      rest += piece;
      const parts = rest.split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) {
        const lines = part.split("\n");
        const field = (name: string): string | undefined =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
        const data = field("data");
        if (data !== undefined) frames.push({ event: field("event") ?? "", id: field("id"), data, at: Date.now() });
        else if (part.startsWith(":")) comments.push(Date.now());
      }
    }
    ended = "the stream ended";
  };
  void read().catch((error: unknown) => (ended = (error as Error).message));
  return { frames, comments, ended: () => ended, close: () => stop.abort() };
}
