import type { NewEvent } from "@skein/protocol";
import type { QueueFigures } from "../shares/fair-queue.ts";
import type { StateCache } from "../log/state-cache.ts";
import type { Opening } from "../run/opening.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./store.ts";

/** Who drives the sessions that are due: this process, or a distributed engine. */
export interface Engine {
  /** Begins to claim sessions that are due. */
  start(): void;
  /**
   * Reserves one of the places of this process for a session that is about to get a prompt, so that the append of the
   * prompt also takes the lease. Undefined if no place is free, if the tenant already has its share of the places, or
   * if this process drives the session already. Reasons: decision 083.
   */
  reserve(sessionId: string, tenant: string): Reserved | undefined;
  /** A hint that a session may be due; `due_at` in the store decides. */
  wake(sessionId: string): void;
  /** A hint that sessions with unknown ids may be due, for example those of a worker that died. */
  look(): void;
  /** The places of this process, and who waits for one. */
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

/** A place for a session that is about to get a prompt. */
interface Reserved {
  /** The option `claim` for the append of the prompt. */
  readonly claim: { readonly owner: string; readonly leaseMs: number };
  /**
   * What the driver adds to the events of the prompt, for the same append. If this process does not know that the
   * session is idle, returns undefined, and the prompt is appended without a claim.
   */
  opening(events: readonly NewEvent[]): Promise<Opening | undefined>;
  /**
   * Ends the reservation. `taken` is the lease that the append took, with the last sequence of its events; null if the
   * append took no lease.
   */
  settle(taken: Taken | null): void;
}

/** The lease that the append of a prompt took. */
export interface Taken {
  readonly fence: number;
  readonly lastSequence: number;
}
