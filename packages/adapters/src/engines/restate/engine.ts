import { setTimeout as delay } from "node:timers/promises";
import { type DueSession, type Engine, type Runtime, type Store, createFairQueue } from "@skein/core";
import { isKnownError } from "@skein/protocol";
import { createDrives } from "../drives.ts";
import { isWoken } from "../waking-facts.ts";
import type { RestateEndpoint } from "./endpoint.ts";
import type { Ingress, WakeUp } from "./ingress.ts";
import { createSender } from "./sender.ts";

export interface RestateEngineDeps {
  readonly store: Store;
  /** The runtime that drives a claimed session. */
  readonly runtime: Runtime;
  /** Identifies this process. */
  readonly owner: string;
  readonly ingress: Ingress;
  /** The endpoint at which Restate gives sessions to this process. Without it, this process only wakes sessions. */
  readonly endpoint?: RestateEndpoint | undefined;
  readonly leaseMs?: number;
  /** How many sessions are driven at the same time. */
  readonly concurrency?: number;
  /** Whether the store has several tenants. If so, no tenant may take every place. */
  readonly isShared?: (() => boolean) | undefined;
  /** How long a session keeps its place while others wait. */
  readonly sliceMs?: number;
  readonly now?: () => number;
  readonly report?: (error: unknown) => void;
}

const SWEEP_MS = 500;
/** All workers together send at most one wake-up for an overdue session in this time. */
const SEND_AGAIN_MS = 5000;
/** If another worker has the lease of a session, the lease is requested again after this delay, which grows. */
const BUSY_MS = 250;
/**
 * A lease of another worker may be taken if it ends within `leaseMs` plus this time. The worker may have renewed the
 * lease after the claim here began.
 */
const CLOCK_SLACK_MS = 1000;
/**
 * This process drives a session without Restate if the session is still due this long after its wake-up was sent: the
 * node of Restate that has the wake-up is down, or another node is taking over.
 */
const UNPLACED_MS = 1500;
/**
 * If a session has been due for this long, this worker had no free place for it. Its wake-up is then sent again, for
 * any worker.
 */
const SEND_MS = 3000;
/** After this time in the queue for a place, another worker may have driven the session. */
const LONG_IN_LINE_MS = 100;
/** The largest number of overdue sessions of one tenant that one sweep handles. */
const PER_TENANT = 100;

/**
 * Drives sessions that Restate gives to this process. Restate chooses the worker, retries, and keeps timers. But
 * `due_at` in the store decides whether a session is due, so workers also drive sessions that Restate gives to nobody.
 * Only one attempt runs for a session at a time, so that a new attempt may take the lease of the previous one. Reasons:
 * decision 160.
 */
export function createRestateEngine(deps: RestateEngineDeps): Engine {
  const { store, runtime, owner, ingress, endpoint } = deps;
  const { leaseMs = 4000, concurrency = 64, sliceMs = 30_000, now = Date.now, report = () => {} } = deps;
  const drives = createDrives({ store, runtime, leaseMs, now, report });
  const places = createFairQueue({ places: concurrency, isShared: deps.isShared });
  const sender = createSender({ ingress, report });
  const stopping = new AbortController();
  /** The sessions that are being claimed or driven here, each with a promise that resolves at the end. */
  const inHand = new Map<string, Promise<void>>();
  /** The time window in which the last wake-up of each overdue session was sent. */
  const sent = new Map<string, number>();
  let stopListening = (): void => {};
  let sweeps: NodeJS.Timeout | undefined;

  async function dueOf(sessionId: string): Promise<DueSession | undefined> {
    const [due] = await store.due({ sessionId, before: Infinity });
    return due;
  }

  /** Called by Restate: drives a session until it sleeps, or until its time slice ends. */
  async function driveSlice(sessionId: string, attemptOver: AbortSignal): Promise<void> {
    const over = AbortSignal.any([attemptOver, stopping.signal]);
    const yieldAt = now() + sliceMs;
    await endOfDriveHere(sessionId, over);
    let asked = now();
    let due = await dueOf(sessionId);
    let inVain = 0;
    while (due && due.dueAt <= now() && now() < yieldAt) {
      if (stopping.signal.aborted) throw new Error("This worker is stopping.");
      if (over.aborted) return;
      const before: DueSession = due;
      await alone(sessionId, async () => {
        const giveBack = await places.take(before.tenant, { signal: over });
        try {
          if (giveBack && (await isStillDue(before, asked)) && !over.aborted) await driveOnce(sessionId, yieldAt);
        } finally {
          giveBack?.();
        }
      });
      asked = now();
      due = await dueOf(sessionId);
      inVain = due && due.lastSequence === before.lastSequence && due.dueAt === before.dueAt ? inVain + 1 : 0;
      // A drive that changed nothing is not repeated immediately.
      if (inVain > 0) await pause(Math.min(BUSY_MS * inVain, leaseMs), over);
      if (await endOfDriveHere(sessionId, over)) {
        asked = now();
        due = await dueOf(sessionId);
      }
    }
    if (due) await sender.send(nextOf(due));
  }

  /**
   * Drives a session, but not if this process is already claiming or driving it. While PostgreSQL is slow, every sweep
   * finds the sessions that are still being claimed. Without this check, each sweep would take another place for each
   * of them.
   */
  async function alone(sessionId: string, drive: () => Promise<void>): Promise<void> {
    if (inHand.has(sessionId)) return;
    const end = Promise.withResolvers<void>();
    inHand.set(sessionId, end.promise);
    try {
      await drive();
    } finally {
      inHand.delete(sessionId);
      end.resolve();
    }
  }

  /** Whether a session is still due. A needless drive costs more than this check. */
  async function isStillDue({ sessionId }: DueSession, asked: number): Promise<boolean> {
    if (now() - asked < LONG_IN_LINE_MS) return true;
    const due = await dueOf(sessionId);
    return due !== undefined && due.dueAt <= now();
  }

  /**
   * Waits until this process no longer drives the session: for an earlier attempt, or without Restate. Returns false if
   * it does not drive the session.
   */
  async function endOfDriveHere(sessionId: string, over: AbortSignal): Promise<boolean> {
    const end = inHand.get(sessionId);
    if (!end) return false;
    const left = Promise.withResolvers<void>();
    const leave = (): void => left.resolve();
    over.addEventListener("abort", leave, { once: true });
    if (!over.aborted) await Promise.race([end, left.promise]);
    over.removeEventListener("abort", leave);
    return true;
  }

  function nextOf({ sessionId, lastSequence, dueAt }: DueSession): WakeUp {
    const delayMs = dueAt - now();
    return delayMs > 0
      ? { sessionId, key: `${lastSequence}:at:${dueAt}`, delayMs }
      : { sessionId, key: `${lastSequence}:slice:${now()}` };
  }

  /**
   * Drives a session until it sleeps, or until its time slice ends. If the attempt ends earlier, the drive continues:
   * otherwise its step would be lost, and the next attempt would begin it again. In this process, the next attempt
   * waits for this drive. In another process, the next attempt takes the lease.
   */
  async function driveOnce(sessionId: string, yieldAt: number): Promise<void> {
    const asked = now();
    const claim = await store.claim({ owner, leaseMs, sessionId, takeWithinMs: leaseMs + CLOCK_SLACK_MS });
    // Another worker has the lease. The caller tries again soon.
    if (claim.kind !== "leased") return;
    await drives.begin({ ...claim, asked, yieldAt }).done;
  }

  /** Drives a session that Restate gives to nobody, if a place is free. */
  async function driveUnplaced(session: DueSession): Promise<void> {
    const { sessionId } = session;
    let isDriven = false;
    await alone(sessionId, async () => void (isDriven = await claimUnplaced(session)));
    const due = isDriven ? await dueOf(sessionId) : undefined;
    if (due) await sender.send(nextOf(due));
  }

  async function claimUnplaced({ sessionId, tenant }: DueSession): Promise<boolean> {
    const giveBack = places.tryTake(tenant);
    if (!giveBack) return false;
    try {
      const asked = now();
      // A late attempt of Restate takes a lease that ends soon. This lease is longer, so that no attempt takes it
      // between two renewals.
      const claim = await store.claim({ owner, leaseMs: leaseMs * 1.5 + CLOCK_SLACK_MS, sessionId });
      if (claim.kind !== "leased") return false;
      await drives.begin({ ...claim, asked, yieldAt: asked + sliceMs }).done;
      return true;
    } finally {
      giveBack();
    }
  }

  async function sweep(isFreed = false): Promise<void> {
    const overdue = await store.due({
      before: isFreed ? now() : now() - UNPLACED_MS,
      perTenant: PER_TENANT,
      limit: PER_TENANT * 10,
    });
    const stretch = Math.floor(now() / SEND_AGAIN_MS);
    for (const [sessionId, last] of sent) if (last < stretch) sent.delete(sessionId);
    for (const session of overdue) {
      const { sessionId, lastSequence, dueAt } = session;
      if (drives.find(sessionId)) continue;
      // Restate may keep trying a dead worker for seconds, and other wake-ups of the session wait for that attempt.
      void driveUnplaced(session).catch(reportUnknown);
      if (!isFreed && (sent.get(sessionId) === stretch || dueAt > now() - SEND_MS)) continue;
      sent.set(sessionId, stretch);
      sender.offer({ sessionId, key: `${lastSequence}:${isFreed ? `freed:${now()}` : `overdue:${stretch}`}` });
    }
  }

  function reportUnknown(error: unknown): void {
    if (!isKnownError(error, "closed", "not_found", "store_unavailable")) report(error);
  }

  function sweepAgain(): void {
    sweeps = setTimeout(() => {
      void sweep()
        .catch(reportUnknown)
        .finally(() => {
          if (!stopping.signal.aborted) sweepAgain();
        });
    }, SWEEP_MS).unref();
  }

  return {
    start() {
      stopListening = store.onNews((sessionId, events) => {
        // Events of another process are announced by that process.
        if (!events || drives.find(sessionId) || !isWoken(events)) return;
        sender.offer({ sessionId, key: String(events.at(-1)?.sequence) });
      });
      if (!endpoint) return;
      drives.start();
      sweepAgain();
      endpoint.serve((sessionId, attemptOver) => driveSlice(sessionId, attemptOver).catch(problemOf));
    },
    // Restate decides where a session runs, so the process that creates it reserves no place.
    reserve: () => undefined,
    wake: (sessionId) => sender.offer({ sessionId, key: `wake:${crypto.randomUUID()}` }),
    queue: places.figures,
    look() {
      if (endpoint) void sweep(true).catch(() => undefined);
    },
    async stop() {
      stopping.abort();
      stopListening();
      clearTimeout(sweeps);
      await Promise.all([drives.stop(), sender.stop()]);
    },
  };

  /** A deleted session needs no drive. Any other error is retried by Restate. */
  function problemOf(error: unknown): void {
    if (isKnownError(error, "not_found")) return;
    if (!isKnownError(error) && !stopping.signal.aborted) report(error);
    throw error;
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
