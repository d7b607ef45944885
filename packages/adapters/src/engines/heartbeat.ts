import type { Store, WorkerInfo, Workers } from "@skein/core";
import { isKnownError } from "@skein/protocol";

export interface HeartbeatDeps {
  readonly store: Store;
  readonly workers: Workers;
  /** The description of this process. */
  readonly worker: () => WorkerInfo;
  /**
   * Whether another owner is a process of this host that has ended. A process of another host, or one that only misses
   * its heartbeats, does not count, because it may still run.
   */
  readonly isDead: (owner: string) => boolean;
  /** Called when leases of a dead worker were freed, so that its sessions can be claimed. */
  readonly onFreed: () => void;
  /** Called after each check with the workers that are alive. */
  readonly onSeen?: (workers: readonly WorkerInfo[]) => void;
  readonly report: (error: unknown) => void;
  readonly beatMs?: number;
  readonly now?: () => number;
}

/** Heartbeats between the workers of one store. Reasons: decision 161 in docs/decisions. */
export interface Heartbeat {
  start(): void;
  stop(): Promise<void>;
}

const BEAT_MS = 400;
/** A worker that missed this many heartbeats counts as dead. */
const MISSED = 3;
/**
 * If a worker is silent, only those of its leases are freed that end within this time. A lease that ends later is left
 * to expire, because it protects effects outside the store. The store rejects late writes of a worker without a lease,
 * but nothing stops its other effects.
 */
const FENCED_MS = 5000;
/** A worker that was silent for this long is removed from the list. */
const FORGET_MS = 60_000;

/**
 * Renews the heartbeat of this process, and frees the leases of dead workers. An api process only removes dead api
 * processes from the list.
 */
export function createHeartbeat(deps: HeartbeatDeps): Heartbeat {
  const { store, workers, worker, beatMs = BEAT_MS, now = () => performance.now() } = deps;
  const { owner, role } = worker();
  // Only a process that can continue the sessions of a dead worker frees its leases. An api process cannot run
  // sessions.
  const drives = role !== "api";
  /**
   * The last heartbeat of every other worker, and the time at which this process first saw that heartbeat. `looks`
   * counts the checks since then.
   */
  const seen = new Map<string, { readonly beat: number; readonly at: number; looks: number; freed: boolean }>();
  /**
   * The duration of the slowest recent heartbeat of this process. Other workers may be silent for four times as long,
   * because their heartbeats are as slow on the same slow disk.
   */
  let slowest = 0;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let beating: Promise<void> = Promise.resolve();

  async function beat(): Promise<void> {
    const began = now();
    try {
      await workers.beat(worker());
      const took = now() - began;
      slowest = Math.max(took, slowest * 0.9);
      const all = await workers.all();
      deps.onSeen?.(all);
      for (const other of all) if (other.owner !== owner && (drives || other.role === "api")) await watch(other);
    } catch (error) {
      // While the store is unavailable, missing heartbeats of other workers mean nothing.
      seen.clear();
      if (!isKnownError(error)) deps.report(error);
    }
  }

  async function watch(worker_: WorkerInfo & { readonly beat: number }): Promise<void> {
    const { owner: other } = worker_;
    const isProven = deps.isDead(other);
    const last = seen.get(other);
    const isNew = last?.beat !== worker_.beat;
    const known = isNew || !last ? { beat: worker_.beat, at: now(), looks: 0, freed: false } : last;
    seen.set(other, known);
    if (isNew && !isProven) return;
    known.looks += 1;
    const silentMs = now() - known.at;
    const isSilent = known.looks >= MISSED && silentMs >= Math.max(MISSED * beatMs, 4 * slowest);
    if ((isProven || isSilent) && !known.freed) {
      await store.free(other, isProven ? {} : { withinMs: FENCED_MS });
      known.freed = true;
      deps.onFreed();
    }
    if (isProven || silentMs > FORGET_MS) {
      await workers.leave(worker_);
      seen.delete(other);
    }
  }

  function next(): void {
    beating = beat().finally(() => {
      if (!stopped) timer = setTimeout(next, beatMs).unref();
    });
  }

  return {
    start: next,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await beating;
      await workers.leave(worker()).catch(() => undefined);
    },
  };
}
