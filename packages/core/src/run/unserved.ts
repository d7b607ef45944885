import type { Ids, NewEvent } from "@skein/protocol";
import { z } from "zod";
import type { SessionState } from "../log/state.ts";
import type { Records } from "../ports/records.ts";
import type { Lease, Store } from "../ports/store.ts";
import { sessionUnserved } from "./facts/index.ts";

/** If a process cannot work on a session, the session is due again after this time. */
const ELSEWHERE_MS = 1000;
/** The shortest time between two renewals of the record that says that a worker could not run a session. */
const AGAIN_MS = 5000;
/**
 * A record without a renewal in this time no longer counts, because a process works on the session again, or the
 * session was deleted.
 */
const FRESH_MS = 15_000;
const PLACE = { tenant: "$unserved", kind: "session" } as const;

const Entry = z.object({ tenant: z.string(), missing: z.string(), at: z.number() });

/** A session that a worker could not run, and what this worker lacks. */
export interface Unserved {
  readonly sessionId: string;
  readonly tenant: string;
  readonly missing: string;
}

interface LeaveDeps {
  readonly store: Store;
  readonly ids: Ids;
  readonly now: () => number;
}

/**
 * Leaves a session to other processes, because this process lacks something. Appends a fact about this only if
 * `missing` is new. Renews the record for `/health` and `skein doctor`.
 */
export async function leaveUnserved(
  { store, ids, now }: LeaveDeps,
  { lease, state, missing }: { readonly lease: Lease; readonly state: SessionState; readonly missing: string },
): Promise<void> {
  const release = { dueAt: now() + ELSEWHERE_MS };
  const found = await store.records.get(PLACE.tenant, PLACE.kind, lease.sessionId);
  const known = found && Entry.parse(found.value);
  const runId = state.run?.runId ?? state.queue[0]?.run_id;
  const isNews = known?.missing !== missing && runId !== undefined;
  if (isNews || known === undefined || now() - known.at > AGAIN_MS) {
    const value = { tenant: state.tenant, missing, at: now() };
    await store.records.put([{ ...PLACE, id: lease.sessionId, value }]);
  }
  if (!isNews) return store.release(lease, { seen: state.sequence, ...release });
  const event = { id: ids(), ...sessionUnserved({ runId, messageId: ids(), missing }) } as NewEvent;
  await store.append(lease.sessionId, [event], { lease, expect: state.sequence, release });
}

/** The sessions that a worker could not run in the last 15 seconds. */
export async function unservedSessions(records: Records, now: number): Promise<readonly Unserved[]> {
  const sessions: Unserved[] = [];
  for await (const { sessionId, tenant, missing, at } of entries(records))
    if (Math.abs(now - at) < FRESH_MS) sessions.push({ sessionId, tenant, missing });
  return sessions;
}

/** Removes records without a renewal for a day. Their sessions run again or were deleted. */
export async function forgetServed(records: Records, now: number): Promise<void> {
  for await (const { sessionId, at } of entries(records))
    if (Math.abs(now - at) > 24 * 3600 * 1000) await records.delete(PLACE.tenant, PLACE.kind, sessionId);
}

/** All records. They are in the order of session ids, so fresh records may be on any page. */
async function* entries(records: Records): AsyncGenerator<Unserved & { readonly at: number }> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Awaited<ReturnType<Records["list"]>> = await records.list({
      ...PLACE,
      limit: 200,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { id, value } of page.items) yield { sessionId: id, ...Entry.parse(value) };
    ({ cursor } = page);
  }
}
