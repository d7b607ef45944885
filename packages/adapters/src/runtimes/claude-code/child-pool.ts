import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { type GiveBack, type QueueFigures, createFairQueue } from "@skein/core";
import { type Child, type ChildDeps, type ChildStart, startChild } from "./claude-child.ts";
import { type Prefetch, createPrefetch } from "./prefetch.ts";
import { memoryOf } from "./process-memory.ts";

export interface ChildPoolOptions {
  /** How long a child stays after its last run. */
  readonly idleMs?: number;
  /** The largest number of idle children. The child that is idle the longest ends first. */
  readonly maxIdle?: number;
  /** How many runs may have a process at the same time; other runs wait for their turn. */
  readonly maxRunning?: number;
  /** How many processes may start at the same time: a start uses one processor for half a second. */
  readonly maxStarting?: number;
  /** How many processes are started in advance, for future sessions. */
  readonly maxAhead?: number;
  /** The memory limit in bytes. Above it, idle children end, and runs wait while another run has a process. Null for no limit. */
  readonly maxMemoryBytes?: number | null;
  /** Whether the store has several tenants. If so, no tenant may have all processes. */
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
 * The processes of this server, by session: started when they are needed or in advance, and kept for a while after a
 * run. Reasons: decision 078.
 */
export interface ChildPool extends Prefetch {
  /**
   * Waits for a place for a run that needs a process. Returns a function that frees the place, or undefined if the wait
   * was stopped.
   */
  place(tenant: string, signal: AbortSignal): Promise<GiveBack | undefined>;
  figures(): Promise<ProcessFigures>;
  /**
   * A child for the session: the idle one if it fits, otherwise a new one. Nobody else gets this child until the caller
   * returns it with `keep`.
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
 * How long a measurement that found enough memory is reused. A measurement takes five turns of the event loop or more:
 * on a busy server, runs that begin together would otherwise wait a second for each other.
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

  /** Whether another process fits into memory. */
  async function hasRoom(): Promise<boolean> {
    return performance.now() < roomUntil || measure();
  }

  /** Ends idle processes if memory is short. Concurrent callers share one measurement. */
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
      // A process counts as started when it has answered the handshake, or has failed.
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
