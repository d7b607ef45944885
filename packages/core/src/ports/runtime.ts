import type { NewEvent } from "@skein/protocol";
import type { SessionState } from "../log/state.ts";
import type { Lease } from "./store.ts";

/**
 * Until when a lease is known to be valid (ms since 1970), on the clock of this process. No effect may begin after that
 * time.
 */
export interface LeaseClock {
  validUntil: number;
}

/** A session that this worker has claimed: the lease, and the last sequence of the log. */
export interface Claimed {
  readonly lease: Lease;
  readonly lastSequence: number;
  readonly clock: LeaseClock;
  /**
   * Whether the append of a prompt took the lease. If so, this worker began the run and did not take it over from
   * another worker.
   */
  readonly begins: boolean;
  /**
   * When other sessions should get the place (ms since 1970). After this time, the session is released as soon as no
   * effect is running, and is due again immediately.
   */
  readonly yieldAt?: number;
  /**
   * Begin only this run. If another prompt is next in the queue, release the session, so that it is driven again at
   * once.
   */
  readonly onlyRun?: string;
  /** Why the run may not spend more, as a sentence. The run ends with this sentence. */
  readonly refusal?: string;
  /**
   * Makes the lease longer. Used by a runtime that cannot check the fence in its effects. The new length counts from
   * the next renewal, or from the next append with the returned lease.
   */
  prolong(leaseMs: number): Lease;
}

/**
 * The reason of an abort when another worker has the lease: `drive` must end at once. After an abort with any other
 * reason, `drive` may finish its running effects.
 */
export const LEASE_LOST = "lease lost";

/**
 * Turns prompts into events. The loop and Claude Code are runtimes. `drive` ends when the session has nothing left to
 * do in this process, and releases the lease. It never throws. A process may be killed during `drive`, and `drive` may
 * be called again. After an abort, `drive` finishes or drops its running effects and ends soon.
 */
export interface Runtime {
  /** Drives a claimed session. Resolves when the lease was released or lost. */
  drive(claimed: Claimed, signal: AbortSignal): Promise<void>;
  /**
   * The first events of the run that a prompt begins. They go into the append of the prompt, which also takes the
   * lease. `state` includes the prompt, and the returned events are folded into `state`.
   */
  opening?(state: SessionState): Promise<readonly NewEvent[]>;
}
