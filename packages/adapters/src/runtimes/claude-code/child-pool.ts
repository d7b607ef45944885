import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { type GiveBack, type QueueFigures, createFairQueue } from "@skein/core";
import { type Child, type ChildDeps, type ChildStart, startChild } from "./claude-child.ts";
import { type Prefetch, createPrefetch } from "./prefetch.ts";
import { memoryOf } from "./process-memory.ts";

export interface ChildPoolOptions {
  /** A child (a process of Claude Code) ends if it is idle for this time. */
  readonly idleMs?: number;
  /** The largest number of idle children. The child that is idle the longest ends first. */
  readonly maxIdle?: number;
  /** The largest number of runs with a process. Other runs wait for their turn. */
  readonly maxRunning?: number;
  /** The largest number of processes that start at the same time. A start uses a processor for half a second. */
  readonly maxStarting?: number;
  /** The largest number of processes that are started in advance, for future sessions. */
  readonly maxAhead?: number;
  /** The memory limit in bytes, or null for no limit. Above it, idle children end, and further runs wait. */
  readonly maxMemoryBytes?: number | null;
  /** Returns true if the store has several tenants. They then share the processes fairly. */
  readonly isShared?: (() => boolean) | undefined;
}

/** The resources that processes of Claude Code use now, and their limits. */
export interface ProcessFigures {
  readonly running: number;
  /** Runs that wait for their turn. */
  readonly waiting: number;
  readonly queue: QueueFigures;
  readonly idle: number;
  readonly ahead: number;
  /** Null if the system does not report it. */
  readonly memoryBytes: number | null;
  readonly limits: {
    readonly running: number;
    readonly idle: number;
    readonly ahead: number;
    readonly memoryBytes: number | null;
  };
}

/**
 * The processes of this server, by session. A process is started when a run needs it, or in advance. After the run, it
 * is kept for a while. Reasons: decision 078 in docs/decisions.
 */
export interface ChildPool extends Prefetch {
  /**
   * Waits until a run may have a process. Returns a function to call after the run, or undefined if the wait was
   * stopped.
   */
  place(tenant: string, signal: AbortSignal): Promise<GiveBack | undefined>;
  figures(): Promise<ProcessFigures>;
  /**
   * Returns the session's idle child, or a child that was started in advance, if it fits. If none fits, starts a child.
   * Only the caller uses the child, until it calls `keep`.
   */
  take(start: ChildStart, fits: (child: Child) => boolean): Promise<Child>;
  keep(child: Child): void;
  /** Ends the idle child of a session, if it has one. */
  drop(sessionId: string): void;
  /** Ends all idle processes. Resolves when their `SessionEnd` hooks were called, or after TOLD_MS. */
  close(): Promise<void>;
}

/** How long `SessionEnd` hooks may delay the end of the server. */
const TOLD_MS = 3000;
/**
 * If a measurement found enough memory, its result is used for this time. Without this, many runs that begin together
 * would wait a second for their measurements.
 */
const ROOM_MS = 1000;

export function createChildPool(
  deps: (walls: ChildStart["walls"]) => Promise<ChildDeps>,
  options: ChildPoolOptions = {},
): ChildPool {
  const { idleMs = 10 * 60_000, maxIdle = 4, maxRunning = 32, maxAhead = 1, maxMemoryBytes = null } = options;
  const { maxStarting = Math.max(2, availableParallelism()) } = options;
  const idle = new Map<string, { readonly child: Child; readonly timer: NodeJS.Timeout }>();
  const prefetch = createPrefetch(start, { idleMs, maxAhead });
  const { isShared } = options;
  const slots = createFairQueue({ places: maxRunning, isShared, hasRoom });
  const starts = createFairQueue({ places: maxStarting });
  const alive = new Set<Child>();

  let measuring: Promise<boolean> | undefined;
  let roomUntil = 0;

  /** Returns true if another process fits into memory. */
  async function hasRoom(): Promise<boolean> {
    return performance.now() < roomUntil || measure();
  }

  /** Ends idle processes if memory is short. Concurrent callers share a measurement. */
  async function measure(): Promise<boolean> {
    if (maxMemoryBytes === null) return true;
    const isRoom = await (measuring ??= makeRoom(maxMemoryBytes).finally(() => (measuring = undefined)));
    roomUntil = isRoom ? performance.now() + ROOM_MS : 0;
    return isRoom;
  }

  async function makeRoom(most: number): Promise<boolean> {
    const sizes = new Map(
      await Promise.all([...alive].map(async (child) => [child, (await sizeOf(child)) ?? 0] as const)),
    );
    let total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    for (const [sessionId, { child }] of idle) {
      if (total < most) break;
      total -= sizes.get(child) ?? 0;
      drop(sessionId);
    }
    return total < most;
  }

  async function start(request: ChildStart): Promise<Child> {
    const started: GiveBack = (await starts.take(request.tenant)) ?? (() => {});
    try {
      const child = await startChild(request, await deps(request.walls));
      alive.add(child);
      void child.ended.then(() => alive.delete(child));
      // The start ends when the process has answered the handshake, or has failed.
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
    place: (tenant, signal) => slots.take(tenant, { signal }),
    async figures() {
      const queue = slots.figures();
      const memory = await memoryOf([...alive].flatMap(({ pid }) => pid ?? []));
      return {
        running: queue.taken,
        waiting: queue.waiting,
        queue,
        idle: idle.size,
        ahead: prefetch.size,
        memoryBytes: memory ?? null,
        limits: { running: maxRunning, idle: maxIdle, ahead: maxAhead, memoryBytes: maxMemoryBytes },
      };
    },
    prepare(kind, request) {
      if (maxMemoryBytes === null) prefetch.prepare(kind, request);
      else void hasRoom().then((fits) => (fits ? prefetch.prepare(kind, request) : undefined));
    },
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
        if (idle.size <= maxIdle) break;
        drop(oldest);
      }
      void measure();
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

async function sizeOf({ pid }: Child): Promise<number | undefined> {
  return pid === undefined ? undefined : memoryOf([pid]);
}
