import { setTimeout as delay } from "node:timers/promises";
import { type Claimed, LEASE_LOST, type Lease, type LeaseClock, type Runtime, type Store } from "@skein/core";
import { isKnownError } from "@skein/protocol";

export interface DrivesDeps {
  readonly store: Store;
  readonly runtime: Runtime;
  /** How long a lease is valid without a renewal. */
  readonly leaseMs: number;
  /** How long a stop waits for drives that do not end. */
  readonly stopMs?: number;
  readonly now: () => number;
  readonly report: (error: unknown) => void;
}

/** A claimed session, the time at which its lease was requested, and the options of the drive. */
interface Beginning extends Pick<Claimed, "lease" | "lastSequence"> {
  readonly asked: number;
  readonly begins?: boolean;
  readonly yieldAt?: number;
}

/** The work of this process on a session, from the claim to the release. */
interface Drive {
  readonly done: Promise<void>;
  /** Asks the runtime to stop soon. */
  stop(): void;
}

/** The sessions that this process works on. Their leases are renewed together. */
export interface Drives {
  readonly size: () => number;
  find(sessionId: string): Drive | undefined;
  begin(beginning: Beginning): Drive;
  /** Begins to renew leases. */
  start(): void;
  /** Asks every drive to stop, and resolves when all have stopped or a time limit is reached. */
  stop(): Promise<void>;
}

const STOP_MS = 9000;

export function createDrives({ store, runtime, leaseMs, stopMs = STOP_MS, now, report }: DrivesDeps): Drives {
  const driving = new Map<
    string,
    Drive & { lease: Lease; readonly clock: LeaseClock; readonly abort: (reason?: unknown) => void }
  >();
  let renewals: NodeJS.Timeout | undefined;

  function begin({ lease, lastSequence, asked, begins = false, yieldAt }: Beginning): Drive {
    const stop = new AbortController();
    const clock: LeaseClock = { validUntil: asked + lease.leaseMs };
    const held = { lease, clock, abort: (reason?: unknown) => stop.abort(reason), stop: () => stop.abort() };
    const claimed: Claimed = {
      lease,
      lastSequence,
      clock,
      begins,
      ...(yieldAt !== undefined && { yieldAt }),
      prolong: (longer) => (held.lease = { ...lease, leaseMs: longer }),
    };
    const done = runtime.drive(claimed, stop.signal).finally(() => driving.delete(lease.sessionId));
    const drive = Object.assign(held, { done });
    driving.set(lease.sessionId, drive);
    return drive;
  }

  async function renew(): Promise<void> {
    // A drive may prolong its lease while the store renews. The store then still answers for the earlier length.
    const sent = [...driving.values()].map(({ lease, clock, abort }) => ({ lease, clock, abort }));
    if (sent.length === 0) return;
    const asked = now();
    try {
      const lost = new Set(await store.renew(sent.map(({ lease }) => lease)));
      for (const { lease, clock, abort } of sent)
        if (lost.has(lease)) abort(LEASE_LOST);
        else clock.validUntil = Math.max(clock.validUntil, asked + lease.leaseMs);
    } catch (error) {
      if (!isKnownError(error)) report(error);
    }
  }

  return {
    size: () => driving.size,
    find: (sessionId) => driving.get(sessionId),
    begin,
    start() {
      renewals = setInterval(() => void renew(), leaseMs / 3).unref();
    },
    async stop() {
      const all = Promise.all(
        [...driving.values()].map(({ stop, done }) => {
          stop();
          return done;
        }),
      );
      await Promise.race([all, delay(stopMs, undefined, { ref: false })]);
      clearInterval(renewals);
    },
  };
}
