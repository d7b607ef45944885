import { type Event, KnownError, type NewEvent, needsLease } from "@skein/protocol";
import type { AppendOptions, Lease } from "../ports/store.ts";

/** Checks the rules of an append that need no stored data. Every store calls this function first. */
export function checkAppend(sessionId: string, events: readonly NewEvent[], options: AppendOptions): void {
  if (events.length === 0) throw new KnownError("invalid", "An append needs at least one event.");
  // Only a driver may append facts of a run, but a new session has no driver yet. So the append that creates a session
  // (for example a fork) may contain facts of a run.
  const begins = events[0]?.event_type === "session.created";
  const guarded = begins ? undefined : events.find(({ event_type }) => needsLease(event_type));
  if (guarded && !options.lease && !options.claim)
    throw new KnownError("lease_required", `Only the driver of session ${sessionId} may append ${guarded.event_type}.`);
  if (options.lease && options.lease.sessionId !== sessionId)
    throw new KnownError("invalid", `The lease is for session ${options.lease.sessionId}, not for ${sessionId}.`);
  if (options.claim && (options.expect === undefined || options.lease || options.release))
    throw new KnownError(
      "invalid",
      "A claim needs `expect` (the last sequence that the worker saw) and cannot have a lease.",
    );
  if (options.release && (!options.lease || options.expect === undefined))
    throw new KnownError("invalid", "A release needs the lease and `expect` (the last sequence that the worker saw).");
}

/** Returns the events with their sequence numbers, which begin at `first`, and their time. */
export function withPlaces(
  sessionId: string,
  events: readonly NewEvent[],
  { first, createdAt }: { readonly first: number; readonly createdAt: string },
): readonly Event[] {
  return events.map(
    ({ id, event_type, data }, index) =>
      ({ id, session_id: sessionId, sequence: first + index, event_type, data, created_at: createdAt }) as Event,
  );
}

export function sessionNotFound(sessionId: string): KnownError {
  return new KnownError("not_found", `There is no session ${sessionId}.`);
}

export function sessionUnreadable(sessionId: string): KnownError {
  return new KnownError(
    "unreadable",
    `Session ${sessionId} has facts of a newer Skein. Use a newer Skein to continue it.`,
  );
}

export function leaseLost(lease: Lease): KnownError {
  return new KnownError(
    "lease_lost",
    `The lease of session ${lease.sessionId} with fence ${lease.fence} is no longer valid.`,
  );
}

export function sessionTaken(sessionId: string): KnownError {
  return new KnownError("conflict", `Session ${sessionId} is driven by another worker.`);
}

export function logMoved(sessionId: string, expected: number, actual: number): KnownError {
  return new KnownError("conflict", `Session ${sessionId} ends at event ${actual}, not at ${expected}.`, {
    details: { expected, actual },
  });
}

export function keyReused(key: string): KnownError {
  return new KnownError("key_reused", `The idempotency key "${key}" was used before with another request.`);
}

export function duplicateCheckpoint(userMessageUuid: string): KnownError {
  return new KnownError("already_exists", `There is already a checkpoint for user message ${userMessageUuid}.`);
}
