import type { NewEvent } from "@skein/protocol";
import type { SessionState } from "../log/state.ts";
import type { Lease } from "./store.ts";

/** Until when a lease is known to be valid (ms since 1970), on the clock of this process. No effect may begin after that time. */
export interface LeaseClock {
  validUntil: number;
}

/** A session that this worker has claimed: the lease, and the last sequence of the log. */
export interface Claimed {
  readonly lease: Lease;
  readonly lastSequence: number;
  readonly clock: LeaseClock;
  /** Whether the log was created with this lease. Then a run in it was begun by this worker, and is not taken up from another. */
  readonly begins: boolean;
  /**
   * Give the session back at the first end of a step after this time (ms since 1970), due again, although it has more to
   * do: others wait for the place. What is running is not cut short.
   */
  readonly yieldAt?: number;
  /** Begin no other run than this one. With another prompt in the queue, give the session back, due again. */
  readonly onlyRun?: string;
  /** Why the run may spend nothing more, as a sentence: end it with that. */
  readonly refusal?: string;
  /**
   * Makes the lease longer, for a runtime whose effects cannot be fenced. The new length counts from the next renewal, or
   * from the next append with the lease that is returned.
   */
  prolong(leaseMs: number): Lease;
}

/** The reason of an abort when another worker has the lease: the drive must end at once. With any other reason it may finish what is running. */
export const LEASE_LOST = "lease lost";

/**
 * What turns prompts into events: the loop, or Claude Code.
 *
 * `drive` works until the session has nothing left to do here, and gives the lease back. It never throws, and may be
 * killed and called again at any point. The signal asks it to stop soon: it finishes or drops what it is doing.
 */
export interface Runtime {
  /** Drives a claimed session. Resolves when the lease was given back or lost. */
  drive(claimed: Claimed, signal: AbortSignal): Promise<void>;
  /** The driver's first events of a session that is created with its lease. They go into the append that creates the session. */
  opening?(state: SessionState, lease: Lease): readonly NewEvent[];
}
