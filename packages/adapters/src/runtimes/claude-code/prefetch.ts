import type { Child, ChildStart } from "./claude-child.ts";

/**
 * Processes that are started before their session exists. A process needs its session's id and options at its start, so
 * the id is created here, and a new session with the same options gets that id.
 */
export interface Prefetch {
  /**
   * Starts a process for the next session of this kind, if there is none yet. If there are too many processes, the one
   * whose kind was not requested for the longest time is ended.
   */
  prepare(kind: string, start: ChildStart): void;
  /** The id for a session of this kind whose process is started already. The process is reserved for a while. */
  reserve(kind: string): string | undefined;
}

interface Started {
  readonly sessionId: string;
  readonly child: Promise<Child | undefined>;
  /** Ends the process, also while it is starting. */
  readonly giveUp: () => void;
  readonly timer: NodeJS.Timeout;
}

/** How long a process is reserved for the session that took its id. */
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
      // A process that could not be started is dropped: the session that needs one will report the reason.
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
