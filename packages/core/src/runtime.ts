import { type AgentConfig, type NewEvent, isKnownError } from "@skein/protocol";
import { placed } from "./append-rules.ts";
import { fold } from "./fold.ts";
import { type SessionState, emptyState } from "./state.ts";
import type { StateCache } from "./state-cache.ts";
import type { Lease, Store } from "./store.ts";

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

export interface RuntimesDeps {
  readonly store: Store;
  readonly states: StateCache;
  readonly now: () => number;
  /** The runtimes that this process has, by the name that an agent has for them. */
  readonly runtimes: ReadonlyMap<AgentConfig["runtime"], Runtime>;
  /** Told about what should never happen. */
  readonly report: (error: unknown) => void;
}

/** How long a session is left alone by a process that does not have its runtime. */
const ELSEWHERE_MS = 1000;

/** Hands each session to the runtime that its agent names; one that this process does not have is for another process. */
export function createRuntimes({ store, states, now, runtimes, report }: RuntimesDeps): Runtime {
  return {
    opening: (state, lease) => runtimes.get(state.agent?.runtime ?? "loop")?.opening?.(state, lease) ?? [],
    async drive(claimed, signal) {
      const { lease, lastSequence } = claimed;
      try {
        const state = await states.take(lease.sessionId, lastSequence);
        states.put(state);
        const runtime = runtimes.get(state.agent?.runtime ?? "loop");
        if (runtime) return await runtime.drive(claimed, signal);
        await store.release(lease, { seen: state.sequence, dueAt: now() + ELSEWHERE_MS });
      } catch (error) {
        // The lease is left to run out.
        if (!isKnownError(error, "lease_lost", "not_found", "closed", "store_unavailable")) report(error);
      }
    },
  };
}

/** A place for a session that is about to begin. */
export interface Reserved {
  readonly claim: { readonly owner: string; readonly leaseMs: number };
  /** What follows at once from the first events of its log, to be stored with them. */
  opening(events: readonly NewEvent[]): readonly NewEvent[];
  /** How far the log is that began with this claim, or null if it did not begin. */
  settle(lastSequence: number | null): void;
}

/** What a runtime writes down at once for a session that begins with these events. */
export function openingOf(
  runtime: Runtime,
  lease: Lease,
  events: readonly NewEvent[],
  now: number,
): readonly NewEvent[] {
  if (!runtime.opening) return [];
  const createdAt = new Date(now).toISOString();
  const state = fold(emptyState(lease.sessionId), placed(lease.sessionId, events, { first: 1, createdAt }));
  return runtime.opening(state, lease);
}

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
export interface EngineParts {
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
