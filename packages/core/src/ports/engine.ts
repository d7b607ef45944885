import type { NewEvent } from "@skein/protocol";
import type { QueueFigures } from "../shares/fair-queue.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./store.ts";

/** Who drives the sessions that are due: this process, or a distributed engine. */
export interface Engine {
  /** Begins to claim sessions that are due. */
  start(): void;
  /**
   * Reserves one of the places of this process for a session that is about to be created, so that its first append also
   * gets its lease. Undefined if no place is free, or if the tenant already has its share of the places. Reasons:
   * decision 083.
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

/** What every engine is given by the process that it drives sessions for. */
interface EngineParts {
  readonly store: Store;
  /** Drives a claimed session. */
  readonly runtime: Runtime;
  /** How many sessions are driven at once. */
  readonly concurrency?: number | undefined;
  /** Whether the store has several tenants: then no tenant may take every place. */
  readonly isShared?: (() => boolean) | undefined;
  /** How long a lease is valid without a renewal. */
  readonly leaseMs?: number | undefined;
  /** Receives unexpected errors. */
  readonly report: (error: unknown) => void;
}

/** Makes the engine of a process. The engine does nothing before `start`. */
export type EngineFactory = (parts: EngineParts) => Engine;

/** A place for a session that is about to begin. */
interface Reserved {
  /** Goes into the first append of the session as its `claim`. */
  readonly claim: { readonly owner: string; readonly leaseMs: number };
  /** The events that the driver adds to the first events of the log, for the same append. */
  opening(events: readonly NewEvent[]): readonly NewEvent[];
  /** Ends the reservation: with the last sequence of the log that was created, or null if no log was created. */
  settle(lastSequence: number | null): void;
}
