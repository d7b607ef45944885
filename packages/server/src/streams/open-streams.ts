import type { Keys, Principal } from "../keys.ts";
import type { Logins } from "../logins.ts";

/** A connection that stays open: an SSE stream or a WebSocket. */
interface OpenStream {
  readonly principal: Principal;
  /** Sends the reason, and ends the connection. */
  close(reason: StreamEnd): void;
}

export type StreamEnd = "shutdown" | "revoked" | "deleted";

/**
 * The open streams of a server. The streams of a revoked key are closed. All streams are closed when the server stops.
 */
export interface OpenStreams {
  readonly size: number;
  add(stream: OpenStream): () => void;
  closeAll(): void;
  /** Stops checking keys. */
  stop(): void;
}

/**
 * How often the keys of open streams are checked. Keys are cached for 2 s (`keys.ts`), so the streams of a revoked key
 * end within 5 s.
 */
const CHECK_MS = 1500;

export interface OpenStreamsDeps {
  readonly keys: Keys;
  readonly logins: Logins;
  readonly report: (error: unknown) => void;
}

export function createOpenStreams({ keys, logins, report }: OpenStreamsDeps): OpenStreams {
  const open = new Set<OpenStream>();

  async function closeRevoked(): Promise<void> {
    for (const keyId of new Set([...open].map(({ principal }) => principal.keyId)))
      if (!(await keys.isValid(keyId))) closeWhere((principal) => principal.keyId === keyId);
    for (const loginId of new Set([...open].map(({ principal }) => principal.login?.id)))
      if (loginId !== undefined && !(await logins.isValid(loginId)))
        closeWhere((principal) => principal.login?.id === loginId);
  }

  function closeWhere(isOver: (principal: Principal) => boolean): void {
    for (const stream of open) if (isOver(stream.principal)) stream.close("revoked");
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
