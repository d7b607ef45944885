import { foldAll, parsed } from "@skein/core";
import { type Ids, Event, KnownError, type NewEvent } from "@skein/protocol";
import { z } from "zod";
import type { Call } from "./call.ts";

const LEASE_MS = 30_000;

/**
 * Makes a session from the log of another one. Its id and those of its events, runs and messages are new, so that a file
 * can be read in beside the session it comes from, and twice.
 *
 * The times of the events are those of the import: a store says when it wrote something, and nobody else does.
 */
export async function importLog(given: readonly unknown[], call: Call): Promise<string> {
  const { store } = call.shared.deps;
  const { ids } = call.shared;
  const log = parsed(z.array(Event), given);
  const [created, ...rest] = checkedLog(log, { tenant: call.principal.tenant, ids });
  if (!created) throw new KnownError("invalid", "events: The log is empty.");
  const sessionId = ids();
  await store.append(sessionId, [created], { expect: 0 });
  try {
    if (rest.length === 0) return sessionId;
    const claim = await store.claim({ owner: `import:${sessionId}`, leaseMs: LEASE_MS, sessionId });
    if (claim.kind !== "leased") throw new KnownError("conflict", "The imported session was taken by somebody else.");
    await store.append(sessionId, rest, { lease: claim.lease, expect: 1, release: { dueAt: null } });
    return sessionId;
  } catch (error) {
    await store.delete(sessionId);
    throw error;
  }
}

/** The facts of a log that makes sense from its first event to its last, with nothing left open. */
function checkedLog(log: readonly Event[], { tenant, ids }: { tenant: string; ids: Ids }): readonly NewEvent[] {
  const [first] = log;
  if (first?.event_type !== "session.created")
    throw new KnownError("invalid", "events: A log begins with session.created.");
  if (log.some(({ sequence }, index) => sequence !== index + 1))
    throw new KnownError("invalid", "events: The sequences of a log are 1, 2, 3 … without a gap.");
  if (log.slice(1).some(({ event_type }) => event_type === "session.created"))
    throw new KnownError("invalid", "events: A log has one session.created.");
  checkFolds(log);
  const renamed = renamer(ids);
  return log.map((event): NewEvent => {
    const { event_type, data } = renamed(event);
    if (event_type !== "session.created") return { event_type, data, id: ids() } as NewEvent;
    // Parents and callers of another store mean nothing here.
    return { id: ids(), event_type, data: { ...data, tenant, parent: null, subagent_of: null } };
  });
}

/** The ids by which facts of one log refer to each other. */
const NAMES = ["run_id", "message_id", "results_message_id", "checkpoint_id"];

/** Gives each id of a log a new one, the same wherever it stands. */
function renamer(ids: Ids): <Named extends Event>(event: Named) => Named {
  const names = new Map<string, string>();
  const nameOf = (old: string): string => {
    const name = names.get(old) ?? ids();
    names.set(old, name);
    return name;
  };
  return (event) => {
    const entries = Object.entries(event.data).map(([key, value]) =>
      NAMES.includes(key) && typeof value === "string" ? [key, nameOf(value)] : [key, value],
    );
    return { ...event, data: Object.fromEntries(entries) };
  };
}

function checkFolds(log: readonly Event[]): void {
  let state;
  try {
    state = foldAll(log[0]?.session_id ?? "", log);
  } catch {
    throw new KnownError("invalid", "events: The log contradicts itself.");
  }
  if (state.run || state.queue.length > 0)
    throw new KnownError("invalid", "events: The log has a run that is not over. Export it when the session is idle.");
}
