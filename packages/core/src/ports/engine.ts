import type { NewEvent } from "@skein/protocol";
import type { QueueFigures } from "../shares/fair-queue.ts";
import type { StateCache } from "../log/state-cache.ts";
import type { Opening } from "../run/opening.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./store.ts";

/** Decides which process drives (runs) a session that is due, which means that it has work to do. */
export interface Engine {
  /** Begins to claim sessions that are due. */
  start(): void;
  /**
   * Reserves a place of this process, which runs only a limited number of sessions at a time, for a session before its
   * next prompt. The append of the prompt then also takes the lease. Returns undefined if no place is free, if the
   * tenant already has its share of the places, or if this process already drives the session. Reasons:
   * docs/decisions/083-a-session-begins-with-its-first-step.md.
   */
  reserve(sessionId: string, tenant: string): Reserved | undefined;
  /** Says that a session may be due. Only `due_at` in the store decides. */
  wake(sessionId: string): void;
  /** Says that sessions may be due whose ids the caller does not know, for example the sessions of a dead worker. */
  look(): void;
  /** Returns how the places of this process are used, and how many sessions wait. */
  queue(): QueueFigures;
  /** Claims no more sessions, and resolves when each running session has ended its step or released its lease. */
  stop(): Promise<void>;
}

/** What a process passes to its engine. */
interface EngineParts {
  readonly store: Store;
  /** Drives a claimed session. */
  readonly runtime: Runtime;
  /** The states of the sessions that this process knows. */
  readonly states?: StateCache | undefined;
  /** How many sessions are driven at the same time. */
  readonly concurrency?: number | undefined;
  /** Whether the store has several tenants. If so, no tenant may take every place. */
  readonly isShared?: (() => boolean) | undefined;
  /** How long a lease is valid without a renewal. */
  readonly leaseMs?: number | undefined;
  /** Receives unexpected errors. */
  readonly report: (error: unknown) => void;
}

/** Makes the engine of a process. The engine does nothing before `start`. */
export type EngineFactory = (parts: EngineParts) => Engine;

/** A reserved place for a session before its next prompt. */
interface Reserved {
  /** The option `claim` for the append of the prompt. */
  readonly claim: { readonly owner: string; readonly leaseMs: number };
  /**
   * Returns what the driver adds to the append of the prompt. Returns undefined if this process is not sure that the
   * session is idle. The prompt is then appended without a claim.
   */
  opening(events: readonly NewEvent[]): Promise<Opening | undefined>;
  /**
   * Ends the reservation after the append. `taken` is the lease from the append, with the last sequence of its events.
   * It is null if the append took no lease.
   */
  settle(taken: Taken | null): void;
}

/** The lease that the append of a prompt took. */
export interface Taken {
  readonly fence: number;
  readonly lastSequence: number;
}
