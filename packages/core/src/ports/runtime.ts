import type { NewEvent } from "@skein/protocol";
import type { SessionState } from "../log/state.ts";
import type { Lease } from "./store.ts";

/** Until when a lease is known to be held, on this process's own clock. Nothing with an effect begins after that. */
export interface LeaseClock {
  validUntil: number;
}

/** A session to drive: the right to, and how far its log is. */
export interface Claimed {
  readonly lease: Lease;
  readonly lastSequence: number;
  readonly clock: LeaseClock;
  /** Whether the log began with this lease: then a run in it was begun here, and not taken up from somebody. */
  readonly begins: boolean;
  /**
   * Holds the session longer at a time, for a runtime whose effects cannot be fenced: from the next renewal on, or the next
   * append with the lease that this answers.
   */
  prolong(leaseMs: number): Lease;
}

/** Why a drive is aborted whose lease another worker has: it must end at once, where others may finish what is going on. */
export const LEASE_LOST = "lease lost";

/**
 * What turns prompts into events: the loop, or Claude Code.
 *
 * `drive` works until the session has nothing left to do here, and gives the lease back. It never throws, and may be
 * killed and called again at any point. The signal asks it to stop soon: it finishes or drops what it is doing.
 */
export interface Runtime {
  drive(claimed: Claimed, signal: AbortSignal): Promise<void>;
  /** What it writes down first for a session that begins with its lease: stored in the same append, which saves one. */
  opening?(state: SessionState, lease: Lease): readonly NewEvent[];
}
