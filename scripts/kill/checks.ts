import type { Store } from "@skein/core";
import type { StoredSession } from "@skein/core/testing";
import { isKnownError } from "@skein/protocol";
import { TENANT } from "./facts.ts";
import type { Operation } from "./journal.ts";

type Wrong = (sentence: string) => void;

/**
 * Checks that acknowledged events are stored with their exact texts and sequences, and that nothing rejected is stored.
 */
export function checkPlaces(sessions: readonly StoredSession[], operations: readonly Operation[], wrong: Wrong): void {
  const logs = new Map(sessions.map(({ sessionId, events }) => [sessionId, events]));
  const known = new Set<string>();
  const created = new Set<string>();
  for (const { kind, target, events = [], answer } of operations) {
    const log = logs.get(target);
    if (kind === "create") created.add(target);
    for (const [index, event] of events.entries()) {
      known.add(event.id);
      if (!log || answer?.is !== "ok") continue;
      const stored = log[(answer.first ?? 0) - 1 + index];
      if (stored?.id !== event.id)
        wrong(`${event.event_type} ${event.id} was acknowledged, but is not at its place in ${target}.`);
      else if (JSON.stringify(stored.data) !== JSON.stringify(event.data))
        wrong(`${event.event_type} ${event.id} in ${target} does not have the acknowledged text.`);
    }
    if (log && (answer?.is === "refused" || answer?.is === "never"))
      for (const { id } of log) if (id === events[0]?.id) wrong(`${id} was rejected, but is in ${target}.`);
  }
  for (const sessionId of created)
    for (const { id, event_type } of logs.get(sessionId) ?? [])
      if (!known.has(id)) wrong(`${event_type} ${id} is in ${sessionId}, but no process wrote it.`);
}

export async function checkDeleted(store: Store, operations: readonly Operation[], wrong: Wrong): Promise<void> {
  for (const { kind, target, answer } of operations) {
    if (kind !== "delete" || answer?.is !== "ok") continue;
    const read = await store.read(target).then(
      (events) => `${events.length} events`,
      (error: unknown) => (isKnownError(error, "not_found") ? undefined : String(error)),
    );
    if (read !== undefined) wrong(`Session ${target} was deleted, but reading it gave ${read}.`);
  }
}

/** Checks that each record has the value of its last acknowledged put. */
export async function checkRecords(store: Store, operations: readonly Operation[], wrong: Wrong): Promise<void> {
  const last = new Map<string, Operation>();
  for (const operation of operations)
    if (operation.kind === "record" && operation.answer?.is === "ok") last.set(operation.target, operation);
  for (const { target, value, answer } of last.values()) {
    const stored = await store.records.get(TENANT, "note", target);
    const version = answer?.is === "ok" ? answer.version : undefined;
    if (!stored) wrong(`Record ${target} was put, but is lost.`);
    else if (stored.version !== version || stored.value !== value)
      wrong(
        `Record ${target} is ${String(stored.value)} (version ${stored.version}), but ${value} (${version}) was acknowledged.`,
      );
  }
}

/** Checks that the scan of all events shows exactly the events of the logs, and that the list has every session. */
export async function checkTotals(store: Store, sessions: readonly StoredSession[], wrong: Wrong): Promise<void> {
  const counts = new Map<string, number>();
  for await (const { session_id, sequence } of store.scan()) {
    if (sequence !== (counts.get(session_id) ?? 0) + 1)
      wrong(`The scan shows event ${sequence} of ${session_id} out of order.`);
    counts.set(session_id, sequence);
  }
  for (const { sessionId, events } of sessions)
    if (counts.get(sessionId) !== events.length)
      wrong(`The scan shows ${counts.get(sessionId) ?? 0} events of ${sessionId}, but its log has ${events.length}.`);
  if (counts.size !== sessions.length)
    wrong(`The scan shows ${counts.size} sessions, but ${sessions.length} are known.`);
  let listed = 0;
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page: Awaited<ReturnType<Store["list"]>> = await store.list({
      tenant: TENANT,
      limit: 1000,
      ...(cursor !== undefined && { cursor }),
    });
    listed += page.items.length;
    cursor = page.cursor;
  }
  if (listed !== sessions.length) wrong(`The list shows ${listed} sessions, but ${sessions.length} are known.`);
}
