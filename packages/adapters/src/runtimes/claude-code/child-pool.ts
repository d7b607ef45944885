import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { type Child, type ChildDeps, type ChildStart, startChild } from "./claude-child.ts";
import { type Prefetch, createPrefetch } from "./prefetch.ts";

export interface ChildPoolOptions {
  /** How long a child stays after its last run. */
  readonly idleMs?: number;
  /** How many idle children there are at most; the one that is idle the longest ends first. */
  readonly maxIdle?: number;
  /** How many start at once: a start takes a processor for half a second. */
  readonly maxStarting?: number;
  /** How many are started ahead, for sessions that are to come. */
  readonly maxAhead?: number;
}

/** The processes of this server, by session: started when they are needed or ahead of that, and kept for a while after a run. */
export interface ChildPool extends Prefetch {
  /** A child for the session: the idle one if it fits, else a new one. It is the caller's until it is kept or ended. */
  take(start: ChildStart, fits: (child: Child) => boolean): Promise<Child>;
  keep(child: Child): void;
  /** Ends the idle child of a session, if it has one. */
  drop(sessionId: string): void;
  /** Ends all that are idle. Resolves when those who want to hear of that were told, or after a while. */
  close(): Promise<void>;
}

/** How long those who want to hear of the end of a process hold up the end of the server. */
const TOLD_MS = 3000;

export function createChildPool(deps: () => Promise<ChildDeps>, options: ChildPoolOptions = {}): ChildPool {
  const { idleMs = 10 * 60_000, maxIdle = 16, maxStarting = Math.max(2, availableParallelism()) } = options;
  const idle = new Map<string, { readonly child: Child; readonly timer: NodeJS.Timeout }>();
  const queue: (() => void)[] = [];
  const prefetch = createPrefetch(start, { idleMs, maxAhead: options.maxAhead ?? 1 });
  let starting = 0;

  async function start(request: ChildStart): Promise<Child> {
    if (starting >= maxStarting) await new Promise<void>((resolve) => void queue.push(resolve));
    starting += 1;
    const started = (): void => {
      starting -= 1;
      queue.shift()?.();
    };
    try {
      const child = await startChild(request, await deps());
      // It is up when it has answered the handshake, or when it never will.
      void Promise.race([child.query.initializationResult(), child.ended]).then(started, started);
      return child;
    } catch (error) {
      started();
      throw error;
    }
  }

  function out(sessionId: string): Child | undefined {
    const found = idle.get(sessionId);
    if (!found) return undefined;
    clearTimeout(found.timer);
    idle.delete(sessionId);
    return found.child.isOver ? undefined : found.child;
  }

  function drop(sessionId: string): void {
    out(sessionId)?.end();
  }

  return {
    prepare: prefetch.prepare,
    reserve: prefetch.reserve,
    async take(request, fits) {
      const known = out(request.sessionId) ?? (await prefetch.claim(request.sessionId));
      if (known && known.key === request.key && fits(known)) return known;
      known?.end();
      return start(request);
    },
    keep(child) {
      const { sessionId } = child;
      drop(sessionId);
      if (child.isOver) return;
      child.detach();
      const timer = setTimeout(() => drop(sessionId), idleMs).unref();
      idle.set(sessionId, { child, timer });
      void child.ended.then(() => idle.get(sessionId)?.child === child && out(sessionId));
      for (const oldest of idle.keys()) {
        if (idle.size <= maxIdle) return;
        drop(oldest);
      }
    },
    drop,
    async close() {
      prefetch.close();
      const told: Promise<void>[] = [];
      for (const sessionId of idle.keys()) {
        const child = out(sessionId);
        child?.kill();
        if (child) told.push(child.told);
      }
      await Promise.race([Promise.all(told), delay(TOLD_MS, undefined, { ref: false })]);
    },
  };
}
