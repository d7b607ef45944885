import { createHash } from "node:crypto";
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
import { applyChanges } from "./changes.ts";
import type { Database } from "./database.ts";
import { toEvent } from "./rows.ts";

/** Bodies over this many bytes are kept apart, so that walking a log does not drag them along. */
const BLOB_LIMIT = 256 * 1024;
const PREVIEW = 1024;

const BODY = "coalesce((select body from blobs where hash = e.blob), e.data) as body";
const COLUMNS = `e.id, e.session_id, e.sequence, e.event_type, e.created_at, ${BODY}`;

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
    return known?.["session_id"] === sessionId
      ? read(sessionId, (known["sequence"] as number) - 1, events.length)
      : undefined;
  }

  function insertEvents(events: readonly Event[]): void {
    for (const event of events) {
      const body = JSON.stringify(event.data);
      const { run_id, step } = event.data as { run_id?: string; step?: number };
      const blob = body.length > BLOB_LIMIT ? keepBlob(body) : null;
      db.run(
        `insert into events (session_id, sequence, id, event_type, data, blob, run_id, step, fact_version, created_at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        event.session_id,
        event.sequence,
        event.id,
        event.event_type,
        blob === null ? body : JSON.stringify({ preview: body.slice(0, PREVIEW) }),
        blob,
        run_id ?? null,
        step ?? null,
        FACT_VERSION,
        event.created_at,
      );
    }
  }

  function keepBlob(body: string): string {
    const hash = createHash("sha256").update(body).digest("hex");
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
    const events = placed(sessionId, newEvents, { first: last + 1, createdAt: new Date(time).toISOString() });
    const changes = project(events);
    for (const { user_message_uuid } of changes.checkpointInserts)
      if (
        db.get("select 1 from checkpoints where session_id = ? and user_message_uuid = ?", sessionId, user_message_uuid)
      )
        throw duplicateCheckpoint(user_message_uuid);

    // Everything that can be refused has been: from here on there are only writes.
    insertEvents(events);
    applyChanges(db, sessionId, changes, { messages: before?.message_count ?? 0, runs: before?.run_count ?? 0 });
    if (before)
      db.run(
        "update heads set last_sequence = last_sequence + ?, message_count = message_count + ?, run_count = run_count + ? where session_id = ?",
        events.length,
        changes.messagesEntered,
        changes.runInserts.length,
        sessionId,
      );
    else
      db.run(
        "insert into heads (session_id, tenant, last_sequence, message_count, run_count, fact_version) values (?, ?, ?, ?, ?, ?)",
        sessionId,
        changes.sessionInsert?.tenant ?? "",
        events.length,
        changes.messagesEntered,
        changes.runInserts.length,
        FACT_VERSION,
      );
    schedule(sessionId, options, time);
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

  /** Renews the lease, and says when the session is due. */
  function schedule(sessionId: string, { lease, dueAt, release }: AppendOptions, time: number): void {
    if (release) {
      db.run(
        "update heads set fence = fence + 1, owner = null, leased_until = 0, due_at = ? where session_id = ?",
        release.dueAt,
        sessionId,
      );
      return;
    }
    if (lease) db.run("update heads set leased_until = ? where session_id = ?", time + lease.leaseMs, sessionId);
    if (dueAt === undefined) return;
    const sql = lease
      ? "update heads set due_at = ? where session_id = ?"
      : "update heads set due_at = min(coalesce(due_at, 9e15), ?) where session_id = ?";
    db.run(sql, dueAt, sessionId);
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
