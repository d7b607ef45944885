import type { NewEvent } from "@skein/protocol";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./store.ts";

/** Who drives the sessions that are due: this process, or a distributed engine. */
export interface Engine {
  start(): void;
  /** Sets a place aside for a session that is about to begin here, if one is free: then it begins with its lease. */
  reserve(sessionId: string): Reserved | undefined;
  /** A hint that a session may be due; `due_at` in the store is the truth. */
  wake(sessionId: string): void;
  /** Takes no more sessions, lets the running ones finish their step or give it back, and ends. */
  stop(): Promise<void>;
}

/** What every engine is given by the process that it drives sessions for. */
interface EngineParts {
  readonly store: Store;
  /** Drives a claimed session. */
  readonly runtime: Runtime;
  /** How many sessions are driven at once. */
  readonly concurrency?: number | undefined;
  readonly leaseMs?: number | undefined;
  /** Told about what should never happen. */
  readonly report: (error: unknown) => void;
}

export type EngineFactory = (parts: EngineParts) => Engine;

/** A place for a session that is about to begin. */
interface Reserved {
  readonly claim: { readonly owner: string; readonly leaseMs: number };
  /** What follows at once from the first events of its log, to be stored with them. */
  opening(events: readonly NewEvent[]): readonly NewEvent[];
  /** How far the log is that began with this claim, or null if it did not begin. */
  settle(lastSequence: number | null): void;
}
