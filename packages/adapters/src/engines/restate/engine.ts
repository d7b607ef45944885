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
  /** The runtime that drives a claimed session: it works on the session until the session sleeps. */
  readonly runtime: Runtime;
  /** Identifies this process. */
  readonly owner: string;
  readonly ingress: Ingress;
  /** The endpoint at which Restate gives sessions to this process. Without it, this process only wakes sessions. */
  readonly endpoint?: RestateEndpoint | undefined;
  readonly leaseMs?: number;
  /** The largest number of sessions that this process drives at the same time. */
  readonly concurrency?: number;
  /** Returns true if the store has several tenants. The tenants then get places of the fair queue in turns. */
  readonly isShared?: (() => boolean) | undefined;
  /** If other sessions wait, a session gives up its place after this time. */
  readonly sliceMs?: number;
  readonly now?: () => number;
  readonly report?: (error: unknown) => void;
}

const SWEEP_MS = 500;
/**
 * All workers together send at most one wake-up (a request to work on a session) for an overdue session in this time.
 */
const SEND_AGAIN_MS = 5000;
/** A drive that changed nothing is repeated after this delay. The delay grows with each attempt. */
const BUSY_MS = 250;
/**
 * A drive may take a lease that ends within `leaseMs` plus this time, because the lease may have been renewed during
 * the claim.
 */
const CLOCK_SLACK_MS = 1000;
/**
 * If a session is still due after this time, this process drives it without Restate, because a node of Restate may be
 * down.
 */
const UNPLACED_MS = 1500;
/**
 * If a session is still due after this time, this worker probably has no free place for it. The worker sends a new
 * wake-up, and any worker may get this wake-up.
 */
const SEND_MS = 3000;
/** If a session waited longer than this for a place, this process checks again whether the session is due. */
const LONG_IN_LINE_MS = 100;
/** The largest number of overdue sessions that a sweep handles for a tenant. */
const PER_TENANT = 100;

/**
 * Drives sessions that Restate gives to this process. Restate chooses the worker, retries, and keeps timers. But
 * `due_at` in the store decides whether a session is due. Workers therefore also drive due sessions that Restate gives
 * to no worker. Restate runs one attempt for a session at a time, so a new attempt may take the lease of the previous
 * attempt. Reasons: decision 160 in docs/decisions.
 */
export function createRestateEngine(deps: RestateEngineDeps): Engine {
  const { store, runtime, owner, ingress, endpoint } = deps;
  const { leaseMs = 4000, concurrency = 64, sliceMs = 30_000, now = Date.now, report = () => {} } = deps;
  const drives = createDrives({ store, runtime, leaseMs, now, report });
  const places = createFairQueue({ places: concurrency, isShared: deps.isShared });
  const sender = createSender({ ingress, report });
  const stopping = new AbortController();
  /** The sessions that this process claims or drives now. The promise resolves when the drive ends. */
  const inHand = new Map<string, Promise<void>>();
  /** The time window of the last wake-up, by overdue session. */
  const sent = new Map<string, number>();
  let stopListening = (): void => {};
  let sweeps: NodeJS.Timeout | undefined;

  async function dueOf(sessionId: string): Promise<DueSession | undefined> {
    const [due] = await store.due({ sessionId, before: Infinity });
    return due;
  }

  /** Drives a session until it sleeps, or until its time slice ends. Restate calls this function. */
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
      if (inVain > 0) await pause(Math.min(BUSY_MS * inVain, leaseMs), over);
      if (await endOfDriveHere(sessionId, over)) {
        asked = now();
        due = await dueOf(sessionId);
      }
    }
    if (due) await sender.send(nextOf(due));
  }

  /**
   * Drives a session, unless this process already claims or drives it. If PostgreSQL is slow, a sweep finds sessions
   * again that the previous sweep still claims. Without this check, every sweep would take another place for such a
   * session.
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

  /**
   * Whether a session is still due. It is only checked after a long wait, when a needless drive is likely and costs
   * more than the check.
   */
  async function isStillDue({ sessionId }: DueSession, asked: number): Promise<boolean> {
    if (now() - asked < LONG_IN_LINE_MS) return true;
    const due = await dueOf(sessionId);
    return due !== undefined && due.dueAt <= now();
  }

  /**
   * Waits until this process no longer drives the session. Returns false immediately if the process does not drive it.
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
   * Drives a session until it sleeps, or until its time slice ends. The drive continues even if the attempt of Restate
   * ends earlier. Without that, the step would be lost and the next attempt would begin it again. A next attempt in
   * this process waits for the drive. A next attempt in another process takes the lease.
   */
  async function driveOnce(sessionId: string, yieldAt: number): Promise<void> {
    const asked = now();
    const claim = await store.claim({ owner, leaseMs, sessionId, takeWithinMs: leaseMs + CLOCK_SLACK_MS });
    // Another worker has the lease. The caller repeats the drive.
    if (claim.kind !== "leased") return;
    await drives.begin({ ...claim, asked, yieldAt }).done;
  }

  /** Drives a session that Restate gives to no worker, if a place is free. */
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
      // A late attempt of Restate takes a lease that ends soon. The lease here is longer, so no attempt takes it
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
      // The session is driven without Restate, because Restate may call a dead worker again for seconds, while all
      // other wake-ups of the session wait.
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
        // Without events, the news comes from another process, which sends the wake-up.
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

  /** Ignores the error of a deleted session. Throws every other error, so that Restate tries again. */
  function problemOf(error: unknown): void {
    if (isKnownError(error, "not_found")) return;
    if (!isKnownError(error) && !stopping.signal.aborted) report(error);
    throw error;
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
