import { WebSocket } from "ws";

/** An event of a stream of `/api/v1`. */
export interface Frame {
  readonly event: string;
  readonly id?: string;
  readonly data: Record<string, unknown> & {
    readonly type: string;
    readonly session_id: string;
    readonly content: readonly Record<string, unknown>[];
  };
}

/** An open stream. Frames can be read as they arrive. */
export interface Stream {
  readonly frames: Frame[];
  readonly comments: string[];
  /** Waits for a matching frame. A frame that arrived before the call counts. */
  until(isIt: (frame: Frame) => boolean): Promise<Frame>;
  /** Waits for the end of the stream. */
  end(): Promise<readonly Frame[]>;
  /** Closes the connection. */
  leave(): void;
}

interface Asking {
  readonly url: string;
  readonly key: string;
}

/** Requests a stream. Throws an error with the HTTP status and the error code if the response has no stream. */
export async function open(
  { url, key }: Asking,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Stream> {
  const stop = new AbortController();
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-api-key": key, ...(body !== undefined && { "content-type": "application/json" }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: stop.signal,
  });
  if (response.status !== 200) throw new Refused(response.status, await response.json());
  const frames: Frame[] = [];
  const comments: string[] = [];
  let wake = (): void => {};
  let over = false;
  const reading = (async () => {
    let text = "";
    try {
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk;
        const parts = text.split("\n\n");
        text = parts.pop() ?? "";
        for (const part of parts) {
          const lines = part.split("\n");
          const field = (name: string): string | undefined =>
            lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
          comments.push(...lines.filter((line) => line.startsWith(":")));
          const data = field("data");
          const id = field("id");
          if (data !== undefined)
            frames.push({ event: field("event") ?? "", ...(id !== undefined && { id }), data: JSON.parse(data) });
        }
        wake();
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    } finally {
      over = true;
      wake();
    }
  })();
  return {
    frames,
    comments,
    async until(isIt) {
      for (;;) {
        const found = frames.find(isIt);
        if (found) return found;
        if (over)
          throw new Error(
            `The stream ended without the expected frame. The last frames: ${JSON.stringify(frames.slice(-5))}`,
          );
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    async end() {
      await reading;
      return frames;
    },
    leave: () => stop.abort(),
  };
}

/** A stream request that was rejected. */
class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, body: unknown) {
    const { error } = body as { error: { code: string; message: string } };
    super(`${status} ${error.code}: ${error.message}`);
    this.status = status;
    this.code = error.code;
  }
}

/** Reads the whole stream of a request. */
export async function all(
  asking: Asking,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
): Promise<readonly Frame[]> {
  return (await open(asking, path, body, headers)).end();
}

export const names = (frames: readonly Frame[]): readonly string[] => frames.map(({ event }) => event);

export function only(frames: readonly Frame[], event: string): Frame {
  const found = frames.filter((frame) => frame.event === event);
  if (found.length !== 1 || !found[0])
    throw new Error(`${found.length} frames are "${event}": ${names(frames).join()}`);
  return found[0];
}

/** A message that the server sent over the WebSocket. */
type Said = Record<string, unknown> & { readonly type: string; readonly data: Frame["data"] };

export interface Talk {
  readonly said: Said[];
  send(message: unknown): void;
  until(isIt: (message: Said) => boolean): Promise<Said>;
  close(): void;
}

/** Begins a conversation over `/api/v1/query/ws`. */
export async function talk({ url, key }: Asking): Promise<Talk> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/query/ws`, { headers: { "x-api-key": key } });
  const said: Said[] = [];
  let wake = (): void => {};
  socket.on("message", (data: Buffer) => {
    said.push(JSON.parse(data.toString()));
    wake();
  });
  socket.on("close", () => wake());
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return {
    said,
    send: (message) => socket.send(JSON.stringify(message)),
    async until(isIt) {
      for (;;) {
        const found = said.find(isIt);
        if (found) return found;
        if (socket.readyState !== socket.OPEN) throw new Error(`The socket closed: ${JSON.stringify(said.slice(-3))}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    close: () => socket.close(),
  };
}
