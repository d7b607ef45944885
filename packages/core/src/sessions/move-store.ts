import { type Event, isKnownError } from "@skein/protocol";
import { foldAll } from "../log/fold.ts";
import type { StoredRecord } from "../ports/records.ts";
import type { AppendOptions, Lease, Store } from "../ports/store.ts";

/** The clock of the new store. It shows the time of the moved event, or the present time if `at` is null. */
export interface MovingClock {
  at: number | null;
}

/** The new store with its clock. Only a store sets the times of its events, so a move sets the clock. */
export interface MoveTarget {
  readonly to: Store;
  readonly clock: MovingClock;
}

export interface MoveStoreDeps {
  readonly from: Store;
  /** Connections to the new store. A connection writes one session at a time, because its clock shows one time. */
  readonly targets: readonly MoveTarget[];
  /** The owner of the leases that a move takes. */
  readonly owner: string;
  readonly now: () => number;
  readonly progress?: (moved: Moved) => void;
  /** False for a copy. A copy only reads the old store, and both stores can then continue the runs in progress. */
  readonly takesOver?: boolean;
}

/** The result of a move. The counts of events and records contain only new data. */
export interface Moved {
  /** Sessions that were checked. */
  sessions: number;
  events: number;
  records: number;
  /** Runs in progress that were handed over: their sessions now sleep in the old store and are due in the new one. */
  runs: number;
  /**
   * Sessions that another process still works on. The move may have copied their events, but does not wake them in the
   * new store.
   */
  readonly busy: string[];
  /** Sessions that continued differently in the two stores. They are left unchanged. */
  readonly apart: string[];
}

/** Long enough to write the largest log, because an expired lease would end the move. */
const LEASE_MS = 60_000;
/** Limits an append, because an imported log can have many events with the same time. */
const MOST_PER_APPEND = 500;

/**
 * Moves one store into another: all records, and all logs with their ids, sequences and times. The old store stays
 * complete. A repeated move copies only new data, so the first move can run while the old store is in use. Reasons:
 * docs/decisions/087-moving-a-store.md.
 */
export async function moveStore({ targets, ...deps }: MoveStoreDeps): Promise<Moved> {
  const moved: Moved = { sessions: 0, events: 0, records: 0, runs: 0, busy: [], apart: [] };
  const [target] = targets;
  if (!target) throw new Error("A move needs at least one target store.");
  for await (const record of deps.from.records.scan()) {
    if (await moveRecord(target, record)) moved.records += 1;
    deps.progress?.(moved);
  }
  const logs = sessionsOf(deps.from);
  await Promise.all(
    targets.map(async (each) => {
      for (let log = await logs.next(); log.done !== true; log = await logs.next()) {
        await moveSession({ ...deps, ...each }, log.value, moved);
        moved.sessions += 1;
        deps.progress?.(moved);
      }
    }),
  );
  return moved;
}

type MoveDeps = Omit<MoveStoreDeps, "targets"> & MoveTarget;

async function* sessionsOf(store: Store): AsyncGenerator<readonly Event[]> {
  let log: Event[] = [];
  for await (const event of store.scan()) {
    if (event.sequence === 1 && log.length > 0) {
      yield log;
      log = [];
    }
    log.push(event);
  }
  if (log.length > 0) yield log;
}

/** Moves a record if the new store does not have it, or has an older one. */
async function moveRecord({ to, clock }: MoveTarget, record: StoredRecord): Promise<boolean> {
  const { tenant, kind, id, version, value, fields, createdAt, updatedAt } = record;
  const there = await to.records.get(tenant, kind, id);
  if (there && there.updatedAt >= updatedAt) return false;
  try {
    // Every put raises the version by one. The puts are repeated until the version is that of the old store, because
    // callers state the version that they read. The first put sets the time of creation.
    for (let at = there?.version ?? 0; at < Math.max(version, (there?.version ?? 0) + 1); at++) {
      clock.at = Date.parse(at === 0 ? createdAt : updatedAt);
      await to.records.put([{ tenant, kind, id, value, fields }]);
    }
  } finally {
    clock.at = null;
  }
  return true;
}

async function moveSession(deps: MoveDeps, seen: readonly Event[], moved: Moved): Promise<void> {
  const { from, to, owner, now, takesOver = true } = deps;
  const sessionId = seen[0]?.session_id ?? "";
  const underWay = isUnderWay(sessionId, seen);
  const claim = underWay && takesOver ? await from.claim({ sessionId, owner, leaseMs: LEASE_MS }) : undefined;
  if (claim?.kind !== "leased") {
    const brought = await bring(deps, { log: seen, underWay, moved });
    const wakes = underWay && !takesOver;
    if (typeof brought === "object") await to.release(brought, { seen: seen.length, dueAt: wakes ? now() : null });
    if (typeof brought === "object" && wakes) moved.runs += 1;
    if (brought === "apart") moved.apart.push(sessionId);
    if (claim || brought === "busy") moved.busy.push(sessionId);
    return;
  }
  const log = [...seen, ...(await from.read(sessionId, { after: seen.length }))];
  const brought = await bring(deps, { log, underWay, moved });
  const isHandedOver = brought === "there" || typeof brought === "object";
  // The session sleeps in the old store before it is due in the new one, so that two workers never run it.
  await from.release(claim.lease, { seen: log.length, dueAt: isHandedOver ? null : now() });
  if (brought === "apart") moved.apart.push(sessionId);
  if (brought === "busy") moved.busy.push(sessionId);
  if (typeof brought !== "object") return;
  // A prompt that arrived during the move keeps the session awake in the old store.
  const [more] = await from.read(sessionId, { after: log.length, limit: 1 });
  await to.release(brought, { seen: log.length, dueAt: more ? null : now() });
  if (more) moved.busy.push(sessionId);
  else moved.runs += 1;
}

/** Whether a worker has something to do for the session, now or later. */
function isUnderWay(sessionId: string, log: readonly Event[]): boolean {
  try {
    const { run, queue } = foldAll(sessionId, log);
    return run !== null || queue.length > 0;
  } catch {
    // This version cannot continue a session whose log it cannot read.
    return false;
  }
}

/**
 * Writes the events that the new store lacks, and returns the lease of the session in the new store. Other results:
 * `there` (the new store has all events), `busy` (another process is about to write the session), `apart` (the new
 * store has different events).
 */
async function bring(
  deps: MoveDeps,
  { log, underWay, moved }: { readonly log: readonly Event[]; readonly underWay: boolean; readonly moved: Moved },
): Promise<Lease | "there" | "busy" | "apart"> {
  const { to, clock, owner } = deps;
  const sessionId = log[0]?.session_id ?? "";
  const [newest, ...more] = await orNothing(to.read(sessionId, { after: log.length - 1, limit: 2 }));
  if (newest && newest.id !== log.at(-1)?.id) return "apart";
  // A session with a run in progress may still have to be woken in the new store.
  if (more.length > 0 || (newest && !underWay)) return "there";
  const [there] = await orNothing(to.claim({ sessionId, owner, leaseMs: LEASE_MS }).then((claim) => [claim]));
  if (there && there.kind !== "leased") return newest ? "there" : "busy";
  const lease: Lease = there?.lease ?? { sessionId, fence: 1, owner, leaseMs: LEASE_MS };
  let last = there?.lastSequence ?? 0;
  const [before] = last === 0 ? [] : await to.read(sessionId, { after: last - 1, limit: 1 });
  if (before?.id !== log[last - 1]?.id) {
    await to.release(lease, { seen: last, dueAt: deps.now() });
    return "apart";
  }
  try {
    for (const events of momentsOf(log.slice(last))) {
      const begins: AppendOptions = { expect: 0, claim: { owner, leaseMs: LEASE_MS } };
      clock.at = Date.parse(events[0]?.created_at ?? "");
      await to.append(sessionId, events, last === 0 ? begins : { expect: last, lease });
      last += events.length;
      moved.events += events.length;
    }
  } finally {
    clock.at = null;
  }
  return lease;
}

/** Returns no items if the session does not exist. */
async function orNothing<Item>(items: Promise<readonly Item[]>): Promise<readonly Item[]> {
  try {
    return await items;
  } catch (error) {
    if (isKnownError(error, "not_found")) return [];
    throw error;
  }
}

/** Groups consecutive events that have the same time. One append writes one group. */
function* momentsOf(events: readonly Event[]): Iterable<readonly Event[]> {
  let moment: Event[] = [];
  for (const event of events) {
    if (moment[0] && (moment[0].created_at !== event.created_at || moment.length === MOST_PER_APPEND)) {
      yield moment;
      moment = [];
    }
    moment.push(event);
  }
  if (moment.length > 0) yield moment;
}
