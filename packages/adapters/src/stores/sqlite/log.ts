import {
  type AppendOptions,
  type Appended,
  type Changes,
  type Stretch,
  type StretchLimit,
  checkAppend,
  duplicateCheckpoint,
  keyReused,
  leaseLost,
  logMoved,
  withPlaces,
  project,
  sessionNotFound,
  sessionTaken,
} from "@skein/core";
import { type Event, FACT_VERSION, KnownError, type NewEvent } from "@skein/protocol";
import { blobOf } from "../sql/body.ts";
import { applyChanges } from "./changes.ts";
import type { Database } from "./database.ts";
import { jsonValue } from "./json-value.ts";
import { toEvent } from "./rows.ts";

const BODY = "coalesce((select body from blobs where hash = e.blob), e.data) as body";
const COLUMNS = `e.id, e.session_id, e.sequence, e.event_type, e.created_at, ${BODY}`;
const READ = `select ${COLUMNS} from events e where session_id = ? and sequence > ? order by sequence limit ?`;

const COUNT = `update heads set last_sequence = last_sequence + ?, message_count = message_count + ?,
  run_count = run_count + ?, updated_at = ?, fact_version = max(fact_version, ${FACT_VERSION})`;
const INSERT_EVENT = `insert into events
  (session_id, sequence, id, event_type, data, blob, run_id, step, fact_version, created_at, happened_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const INSERT_FIRST_EVENT = `${INSERT_EVENT} on conflict (id) do nothing`;
/** The updates of a head are constant texts, because building a statement would take as long as running it. */
const HEAD = {
  release: `${COUNT}, fence = fence + 1, owner = null, leased_until = 0, due_at = ? where session_id = ?`,
  renewAndDue: `${COUNT}, leased_until = ?, due_at = ? where session_id = ?`,
  renew: `${COUNT}, leased_until = ? where session_id = ?`,
  claim: `${COUNT}, fence = fence + 1, owner = ?, leased_until = ?, due_at = ? where session_id = ?`,
  due: `${COUNT}, due_at = ? where session_id = ?`,
  count: `${COUNT} where session_id = ?`,
};

const FIND_HEAD = `select tenant, last_sequence, message_count, run_count, fence, owner, leased_until, due_at, fact_version
  from heads where session_id = ?`;

/** An append, with the data for its checks. */
interface AskedAppend extends AppendOptions {
  readonly sessionId: string;
  readonly time: number;
  readonly before: Head | undefined;
  readonly begins: boolean;
  readonly changes: Changes;
}

/** The amounts by which an append increases the counters of a head, and the time of the append. */
type Counted = readonly [events: number, messages: number, runs: number, at: string];

export interface Head {
  readonly tenant: string;
  readonly last_sequence: number;
  readonly message_count: number;
  readonly run_count: number;
  readonly fence: number;
  readonly owner: string | null;
  readonly leased_until: number;
  readonly due_at: number | null;
  /** The highest version of a fact in the log. */
  readonly fact_version: number;
}

/** Reads and writes the logs in sqlite. */
export interface Log {
  head(sessionId: string, tenant?: string): Head;
  read(sessionId: string, after: number, limit: number): readonly Event[];
  readStretch(sessionId: string, after: number, most: StretchLimit): Stretch;
  scan(after: { readonly sessionId: string; readonly sequence: number }, limit: number): readonly Event[];
  /** Appends events. The caller has started a transaction. */
  append(sessionId: string, events: readonly NewEvent[], options: AppendOptions): Appended;
  delete(sessionId: string, tenant?: string): void;
}

export function createLog({ db, now }: { readonly db: Database; readonly now: () => number }): Log {
  function findHead(sessionId: string): Head | undefined {
    return db.get(FIND_HEAD, sessionId) as unknown as Head | undefined;
  }

  function head(sessionId: string, tenant?: string): Head {
    const found = findHead(sessionId);
    if (!found || (tenant !== undefined && found.tenant !== tenant)) throw sessionNotFound(sessionId);
    return found;
  }

  function read(sessionId: string, after: number, limit: number): readonly Event[] {
    return db.all(READ, sessionId, after, limit).map(toEvent);
  }

  /** Returns the events of an earlier append with the same idempotency key. */
  function storedUnder(key: NonNullable<AppendOptions["key"]>, tenant: string): readonly Event[] | undefined {
    const kept = db.get("select * from keys where tenant = ? and key = ?", tenant, key.id);
    if (!kept) return undefined;
    if (kept["fingerprint"] !== key.fingerprint) throw keyReused(key.id);
    const first = kept["first_sequence"] as number;
    return read(kept["session_id"] as string, first - 1, (kept["last_sequence"] as number) - first + 1);
  }

  /** Returns the events of an earlier append with the same event ids. */
  function storedBefore(sessionId: string, events: readonly NewEvent[]): readonly Event[] | undefined {
    const known = db.get("select session_id, sequence from events where id = ?", events[0]?.id ?? "");
    return known?.["session_id"] === sessionId
      ? read(sessionId, (known["sequence"] as number) - 1, events.length)
      : undefined;
  }

  /**
   * Returns the error of an append that must be rejected, or undefined. Also returns an error for a repeated append,
   * which the caller then recognises by its event ids.
   */
  function problemWith(asked: AskedAppend): KnownError | undefined {
    const { sessionId, before, begins, changes, expect, lease, claim, time } = asked;
    const last = before?.last_sequence ?? 0;
    if (lease && (before?.fence !== lease.fence || before.owner === null)) return leaseLost(lease);
    if (begins && before) return logMoved(sessionId, 0, last);
    if (expect !== undefined && expect !== last) return logMoved(sessionId, expect, last);
    if (claim && before && !isFree(before, time)) return sessionTaken(sessionId);
    const twin = changes.checkpointInserts.find(({ user_message_uuid }) =>
      db.get("select 1 from checkpoints where session_id = ? and user_message_uuid = ?", sessionId, user_message_uuid),
    );
    return twin && duplicateCheckpoint(twin.user_message_uuid);
  }

  /** Writes the events. Returns false, without writing, if the first event is already stored. */
  function insertEvents(events: readonly Event[]): boolean {
    for (const event of events) {
      const { value, free } = jsonValue(event.data);
      const blob = blobOf(event.data, value);
      const { run_id, step, happened_at } = event.data as { run_id?: string; step?: number; happened_at?: string };
      const hash = blob && keepBlob(blob.hash.toString("hex"), value);
      const written = db.run(
        event === events[0] ? INSERT_FIRST_EVENT : INSERT_EVENT,
        event.session_id,
        event.sequence,
        event.id,
        event.event_type,
        blob ? blob.preview : value,
        hash,
        run_id ?? null,
        step ?? null,
        FACT_VERSION,
        event.created_at,
        happened_at ?? null,
      );
      free();
      if (written === 0) return false;
    }
    return true;
  }

  function keepBlob(hash: string, body: string | Uint8Array): string {
    db.run("insert or ignore into blobs values (?, cast(? as text))", hash, body);
    return hash;
  }

  function append(sessionId: string, newEvents: readonly NewEvent[], options: AppendOptions): Appended {
    const { key, tenant } = options;
    const under = key && storedUnder(key, tenantOf(newEvents, options));
    if (under) return { events: under, repeated: true };

    const begins = newEvents[0]?.event_type === "session.created";
    const before = findHead(sessionId);
    const last = before?.last_sequence ?? 0;
    if (!begins && (!before || (tenant !== undefined && before.tenant !== tenant))) throw sessionNotFound(sessionId);
    const time = now();
    const createdAt = new Date(time).toISOString();
    const events = withPlaces(sessionId, newEvents, { first: last + 1, createdAt });
    const changes = project(events);
    const problem = problemWith({ sessionId, before, begins, changes, time, ...options });
    if (problem) {
      const stored = before && storedBefore(sessionId, newEvents);
      if (stored) return { events: stored, repeated: true };
      throw problem;
    }

    // All checks are done, and only writes follow. If the first event is already stored, nothing else is written.
    if (!insertEvents(events)) {
      const stored = storedBefore(sessionId, newEvents);
      if (stored) return { events: stored, repeated: true };
      throw new KnownError("already_exists", `Event ${newEvents[0]?.id} is in the log of another session.`);
    }
    applyChanges(db, sessionId, changes, { messages: before?.message_count ?? 0, runs: before?.run_count ?? 0 });
    const counted = [events.length, changes.messagesEntered, changes.runInserts.length, createdAt] as const;
    if (before) updateHead(sessionId, before, counted, { ...options, time });
    else insertHead(sessionId, changes.sessionInsert?.tenant ?? "", counted, { ...options, time });
    if (key)
      db.run(
        "insert into keys values (?, ?, ?, ?, ?, ?)",
        tenantOf(newEvents, options),
        key.id,
        key.fingerprint,
        sessionId,
        last + 1,
        last + events.length,
      );
    return { events, repeated: false, ...(options.claim && { fence: (before?.fence ?? 0) + 1 }) };
  }

  /** Updates the counters, renews or releases the lease, and sets when the session is due. */
  function updateHead(
    sessionId: string,
    before: Head,
    counted: Counted,
    { lease, claim, dueAt, release, time }: AppendOptions & { readonly time: number },
  ): void {
    if (claim) db.run(HEAD.claim, ...counted, claim.owner, time + claim.leaseMs, earlier(before, dueAt), sessionId);
    else if (release) db.run(HEAD.release, ...counted, release.dueAt, sessionId);
    else if (lease && dueAt !== undefined) db.run(HEAD.renewAndDue, ...counted, time + lease.leaseMs, dueAt, sessionId);
    else if (lease) db.run(HEAD.renew, ...counted, time + lease.leaseMs, sessionId);
    // A prompt to a session that is already due usually keeps the due time. In this case no index is written.
    else if (dueAt !== undefined && dueAt < (before.due_at ?? Number.POSITIVE_INFINITY))
      db.run(HEAD.due, ...counted, dueAt, sessionId);
    else db.run(HEAD.count, ...counted, sessionId);
  }

  function insertHead(
    sessionId: string,
    tenant: string,
    counted: Counted,
    { dueAt, claim, time }: AppendOptions & { readonly time: number },
  ): void {
    db.run(
      `insert into heads (session_id, tenant, last_sequence, message_count, run_count, updated_at, due_at, fact_version,
         fence, owner, leased_until)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      sessionId,
      tenant,
      ...counted,
      dueAt ?? null,
      FACT_VERSION,
      claim ? 1 : 0,
      claim?.owner ?? null,
      claim ? time + claim.leaseMs : 0,
    );
  }

  return {
    head,
    read,
    readStretch: (sessionId, after, most) => readStretch(db, { sessionId, after, most }),
    scan: (after, limit) =>
      db
        .all(
          `select ${COLUMNS} from events e where (session_id, sequence) > (?, ?) order by session_id, sequence limit ?`,
          after.sessionId,
          after.sequence,
          limit,
        )
        .map(toEvent),
    append(sessionId, events, options) {
      checkAppend(sessionId, events, options);
      return append(sessionId, events, options);
    },
    delete(sessionId, tenant) {
      head(sessionId, tenant);
      const blobs = db.all("select distinct blob from events where session_id = ? and blob is not null", sessionId);
      for (const table of OWNED) db.run(`delete from ${table} where session_id = ?`, sessionId);
      db.run("delete from sessions where id = ?", sessionId);
      for (const { blob } of blobs)
        db.run(
          "delete from blobs where hash = ? and not exists (select 1 from events where blob = ?)",
          blob as string,
          blob as string,
        );
    },
  };
}

const OWNED = [
  "events",
  "run_models",
  "heads",
  "session_tags",
  "session_metadata",
  "messages",
  "runs",
  "awaits",
  "checkpoints",
  "files",
  "keys",
  "snapshots",
];

/** Returns the tenant of an idempotency key. It is the tenant of the new session, or else the tenant of the caller. */
function tenantOf(events: readonly NewEvent[], { tenant }: AppendOptions): string {
  const [first] = events;
  return first?.event_type === "session.created" ? first.data.tenant : (tenant ?? "");
}

function readStretch(
  db: Database,
  { sessionId, after, most }: { readonly sessionId: string; readonly after: number; readonly most: StretchLimit },
): Stretch {
  const events: Event[] = [];
  let size = 0;
  for (const row of db.iterate(READ, sessionId, after, most.events)) {
    events.push(toEvent(row));
    size += (row["body"] as string).length;
    if (size >= most.bytes) break;
  }
  return { events, full: size >= most.bytes || events.length === most.events };
}

/** Whether a worker of this version can take the lease of a session. */
function isFree({ leased_until, fact_version }: Head, time: number): boolean {
  return leased_until <= time && fact_version <= FACT_VERSION;
}

function earlier({ due_at }: Head, dueAt: number | undefined): number | null {
  return dueAt === undefined ? due_at : Math.min(dueAt, due_at ?? dueAt);
}
