import type { Child, ChildStart } from "./claude-child.ts";

/**
 * Starts processes before their session exists. A process needs the session's id at its start. So the id is made in
 * advance, and a new session with the same options gets this id.
 */
export interface Prefetch {
  /**
   * Starts a process for the next session of this kind, if none is ready. If too many processes are ready, ends the
   * process that was started first.
   */
  prepare(kind: string, start: ChildStart): void;
  /** Reserves a ready process of this kind for a while. Returns the id for its session. */
  reserve(kind: string): string | undefined;
}

interface Started {
  readonly sessionId: string;
  readonly child: Promise<Child | undefined>;
  /** Ends the process, even while it is starting. */
  readonly giveUp: () => void;
  readonly timer: NodeJS.Timeout;
}

/** A reserved process waits this long for its session. */
const RESERVED_MS = 10_000;

export function createPrefetch(
  start: (request: ChildStart) => Promise<Child>,
  { idleMs, maxAhead }: { readonly idleMs: number; readonly maxAhead: number },
): Prefetch & { claim(sessionId: string): Promise<Child | undefined>; readonly size: number; close(): void } {
  const ready = new Map<string, Started>();
  const reserved = new Map<string, Started>();
  let isClosed = false;

  function end(started: Started | undefined): void {
    if (!started) return;
    clearTimeout(started.timer);
    started.giveUp();
    void started.child.then((child) => child?.kill());
  }

  function remove(from: Map<string, Started>, key: string): void {
    const started = from.get(key);
    from.delete(key);
    end(started);
  }

  return {
    get size() {
      return ready.size + reserved.size;
    },
    prepare(kind, request) {
      if (isClosed || maxAhead === 0 || ready.has(kind)) return;
      const givenUp = new AbortController();
      // A process that cannot be started is dropped. The session that needs it will report the reason.
      const child = start({ ...request, ahead: true, givenUp: givenUp.signal }).catch(() => undefined);
      const timer = setTimeout(() => remove(ready, kind), idleMs).unref();
      ready.set(kind, { sessionId: request.sessionId, child, giveUp: () => givenUp.abort(), timer });
      void child
        .then((up) => up?.ended)
        .then(() => (ready.get(kind)?.child === child ? remove(ready, kind) : undefined));
      for (const oldest of ready.keys()) {
        if (ready.size <= maxAhead) return;
        remove(ready, oldest);
      }
    },
    reserve(kind) {
      const started = ready.get(kind);
      if (!started) return undefined;
      ready.delete(kind);
      clearTimeout(started.timer);
      const { sessionId } = started;
      const timer = setTimeout(() => remove(reserved, sessionId), RESERVED_MS).unref();
      reserved.set(sessionId, { ...started, timer });
      return sessionId;
    },
    async claim(sessionId) {
      const started = reserved.get(sessionId);
      if (!started) return undefined;
      reserved.delete(sessionId);
      clearTimeout(started.timer);
      const child = await started.child;
      return child?.isOver ? undefined : child;
    },
    close() {
      isClosed = true;
      for (const kind of ready.keys()) remove(ready, kind);
      for (const sessionId of reserved.keys()) remove(reserved, sessionId);
    },
  };
}
