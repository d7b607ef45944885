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
}

/** Who drives the sessions that are due: this process, or a distributed engine. */
export interface Engine {
  start(): void;
  /** A hint that a session may be due; `due_at` in the store is the truth. */
  wake(sessionId: string): void;
  /** Takes no more sessions, lets the running ones finish their step or give it back, and ends. */
  stop(): Promise<void>;
}
