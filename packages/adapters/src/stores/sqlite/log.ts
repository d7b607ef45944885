import {
  type AppendOptions,
  type Appended,
  checkAppend,
  duplicateCheckpoint,
  keyReused,
  leaseLost,
  logMoved,
  placed,
  project,
  sessionNotFound,
} from "@skein/core";
import { type Event, FACT_VERSION, type NewEvent } from "@skein/protocol";
import { bodyOf } from "../sql/body.ts";
import { applyChanges } from "./changes.ts";
import type { Database } from "./database.ts";
import { toEvent } from "./rows.ts";

const BODY = "coalesce((select body from blobs where hash = e.blob), e.data) as body";
const COLUMNS = `e.id, e.session_id, e.sequence, e.event_type, e.created_at, ${BODY}`;

const COUNT =
  "update heads set last_sequence = last_sequence + ?, message_count = message_count + ?, run_count = run_count + ?, updated_at = ?";
const LET_GO = "fence = fence + 1, owner = null, leased_until = 0";

/** What an append adds to the head of its session, and when. */
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
}

/** The log in sqlite: reading it, and the one job that writes to it. */
export interface Log {
  head(sessionId: string, tenant?: string): Head;
  read(sessionId: string, after: number, limit: number): readonly Event[];
  scan(after: { readonly sessionId: string; readonly sequence: number }, limit: number): readonly Event[];
  /** The body of an append, to be run inside a transaction. */
  append(sessionId: string, events: readonly NewEvent[], options: AppendOptions): Appended;
  delete(sessionId: string, tenant?: string): void;
}

export function createLog({ db, now }: { readonly db: Database; readonly now: () => number }): Log {
  function findHead(sessionId: string): Head | undefined {
    return db.get("select * from heads where session_id = ?", sessionId) as unknown as Head | undefined;
  }

  function head(sessionId: string, tenant?: string): Head {
    const found = findHead(sessionId);
    if (!found || (tenant !== undefined && found.tenant !== tenant)) throw sessionNotFound(sessionId);
    return found;
  }

  function read(sessionId: string, after: number, limit: number): readonly Event[] {
    const sql = `select ${COLUMNS} from events e where session_id = ? and sequence > ? order by sequence limit ?`;
    return db.all(sql, sessionId, after, limit).map(toEvent);
  }

  /** What an earlier append with the same key or the same ids stored. */
  function earlier(
    sessionId: string,
    events: readonly NewEvent[],
    options: AppendOptions,
  ): readonly Event[] | undefined {
    if (options.key) {
      const kept = db.get("select * from keys where tenant = ? and key = ?", tenantOf(events, options), options.key.id);
      if (kept && kept["fingerprint"] !== options.key.fingerprint) throw keyReused(options.key.id);
      if (kept) {
        const first = kept["first_sequence"] as number;
        return read(kept["session_id"] as string, first - 1, (kept["last_sequence"] as number) - first + 1);
      }
    }
    const known = db.get("select session_id, sequence from events where id = ?", events[0]?.id ?? "");
    if (known?.["session_id"] !== sessionId) return undefined;
    head(sessionId, options.tenant);
    return read(sessionId, (known["sequence"] as number) - 1, events.length);
  }

  function insertEvents(events: readonly Event[]): void {
    for (const event of events) {
      const { text, blob } = bodyOf(event.data);
      const { run_id, step } = event.data as { run_id?: string; step?: number };
      const hash = blob && keepBlob(blob.hash.toString("hex"), text);
      db.run(
        `insert into events (session_id, sequence, id, event_type, data, blob, run_id, step, fact_version, created_at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        event.session_id,
        event.sequence,
        event.id,
        event.event_type,
        blob ? blob.preview : text,
        hash,
        run_id ?? null,
        step ?? null,
        FACT_VERSION,
        event.created_at,
      );
    }
  }

  function keepBlob(hash: string, body: string): string {
    db.run("insert or ignore into blobs values (?, ?)", hash, body);
    return hash;
  }

  function append(sessionId: string, newEvents: readonly NewEvent[], options: AppendOptions): Appended {
    const stored = earlier(sessionId, newEvents, options);
    if (stored) return { events: stored, repeated: true };

    const { expect, lease, key, tenant } = options;
    const begins = newEvents[0]?.event_type === "session.created";
    const before = begins ? findHead(sessionId) : head(sessionId, tenant);
    if (lease && (before?.fence !== lease.fence || before.owner === null)) throw leaseLost(lease);
    const last = before?.last_sequence ?? 0;
    if (begins && before) throw logMoved(sessionId, 0, last);
    if (expect !== undefined && expect !== last) throw logMoved(sessionId, expect, last);

    const time = now();
    const createdAt = new Date(time).toISOString();
    const events = placed(sessionId, newEvents, { first: last + 1, createdAt });
    const changes = project(events);
    for (const { user_message_uuid } of changes.checkpointInserts)
      if (
        db.get("select 1 from checkpoints where session_id = ? and user_message_uuid = ?", sessionId, user_message_uuid)
      )
        throw duplicateCheckpoint(user_message_uuid);

    // Everything that can be refused has been: from here on there are only writes.
    insertEvents(events);
    applyChanges(db, sessionId, changes, { messages: before?.message_count ?? 0, runs: before?.run_count ?? 0 });
    const counted = [events.length, changes.messagesEntered, changes.runInserts.length, createdAt] as const;
    if (before) updateHead(sessionId, before, counted, { ...options, time });
    else insertHead(sessionId, changes.sessionInsert?.tenant ?? "", counted, options);
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
    return { events, repeated: false };
  }

  /** Counts what was appended, renews the lease or gives it back, and says when the session is due. */
  function updateHead(
    sessionId: string,
    before: Head,
    counted: Counted,
    { lease, dueAt, release, time }: AppendOptions & { readonly time: number },
  ): void {
    if (release) db.run(`${COUNT}, ${LET_GO}, due_at = ? where session_id = ?`, ...counted, release.dueAt, sessionId);
    else if (lease && dueAt !== undefined)
      db.run(
        `${COUNT}, leased_until = ?, due_at = ? where session_id = ?`,
        ...counted,
        time + lease.leaseMs,
        dueAt,
        sessionId,
      );
    else if (lease)
      db.run(`${COUNT}, leased_until = ? where session_id = ?`, ...counted, time + lease.leaseMs, sessionId);
    // Most prompts to a session that is due already change nothing here, and then its index stays as it is.
    else if (dueAt !== undefined && dueAt < (before.due_at ?? Number.POSITIVE_INFINITY))
      db.run(`${COUNT}, due_at = ? where session_id = ?`, ...counted, dueAt, sessionId);
    else db.run(`${COUNT} where session_id = ?`, ...counted, sessionId);
  }

  function insertHead(sessionId: string, tenant: string, counted: Counted, { dueAt }: AppendOptions): void {
    db.run(
      `insert into heads (session_id, tenant, last_sequence, message_count, run_count, updated_at, due_at, fact_version)
       values (?, ?, ?, ?, ?, ?, ?, ?)`,
      sessionId,
      tenant,
      ...counted,
      dueAt ?? null,
      FACT_VERSION,
    );
  }

  return {
    head,
    read,
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
  "heads",
  "session_tags",
  "messages",
  "runs",
  "awaits",
  "checkpoints",
  "files",
  "keys",
  "snapshots",
];

/** Whose key it is: of the session that begins, or of the caller. */
function tenantOf(events: readonly NewEvent[], { tenant }: AppendOptions): string {
  const [first] = events;
  return first?.event_type === "session.created" ? first.data.tenant : (tenant ?? "");
}
