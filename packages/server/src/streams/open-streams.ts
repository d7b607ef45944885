import type { Keys } from "../keys.ts";

/** A connection that stays open: an SSE stream or a WebSocket. */
interface OpenStream {
  readonly keyId: string;
  /** Says why, and ends. */
  close(reason: StreamEnd): void;
}

export type StreamEnd = "shutdown" | "revoked" | "deleted";

/** Every open stream of a server, so that a revoked key loses its own and a stopping server can say goodbye. */
export interface OpenStreams {
  readonly size: number;
  add(stream: OpenStream): () => void;
  closeAll(): void;
  /** Ends the watch over keys. */
  stop(): void;
}

/** How often keys of open streams are looked at. With the time that a key is remembered it stays under 5 s. */
const CHECK_MS = 1500;

export function createOpenStreams(keys: Keys, report: (error: unknown) => void): OpenStreams {
  const open = new Set<OpenStream>();

  async function closeRevoked(): Promise<void> {
    for (const keyId of new Set([...open].map((stream) => stream.keyId))) {
      if (await keys.isValid(keyId)) continue;
      for (const stream of open) if (stream.keyId === keyId) stream.close("revoked");
    }
  }

  const timer = setInterval(() => void closeRevoked().catch(report), CHECK_MS).unref();
  return {
    get size() {
      return open.size;
    },
    add(stream) {
      open.add(stream);
      return () => open.delete(stream);
    },
    closeAll() {
      for (const stream of open) stream.close("shutdown");
    },
    stop: () => clearInterval(timer),
  };
}
