import { dirname, resolve } from "node:path";
import {
  type Claim,
  type ClaimOptions,
  DUE_LIMIT,
  type DueQuery,
  type DueSession,
  type Lease,
  type Snapshot,
  type Store,
  createFollowers,
  leaseLost,
  sessionNotFound,
  sessionUnreadable,
} from "@skein/core";
import { FACT_VERSION, type Session } from "@skein/protocol";
import { type Database, openDatabase } from "./database.ts";
import { type Head, createLog } from "./log.ts";
import { SESSION, countSessions, listSessions, toolUsageOf, usageOf } from "./lists.ts";
import { createSqliteRecords } from "./records.ts";
import { toAwait, toCheckpoint, toMessageRow, toRun } from "./rows.ts";
import { createSessionCache } from "./session-cache.ts";
import { listChanged, listOpenAwaits, placesOf, summariesOf } from "./tenant-lists.ts";
import { checkRoom } from "../disk-room.ts";
import { type WakeFile, openWakeFile } from "./wake-file.ts";

export interface SqliteStoreOptions {
  /** The path of the database. Missing folders are created. */
  readonly file: string;
  readonly now?: () => number;
  /** How long a write waits for another process that is writing, before it is rejected with `store_unavailable`. */
  readonly busyMs?: number;
}

const DEFAULT_LIMIT = 50;
const SWEEP_MS = 1000;
/** A sequence that no log reaches. */
const EVERYTHING = Number.MAX_SAFE_INTEGER;

/**
 * The default store, a sqlite database in one file with a write-ahead log. All appends of one turn of the event loop
 * share one commit, which waits for the disk. Only a commit that changes nothing but leases does not wait.
 *
 * Several processes may append to sessions, read them and run them. A byte in `<file>.wake` after each commit wakes the
 * other processes; a sweep each second finds unannounced changes.
 *
 * An append takes 90 µs for the flush and about 6 µs for each changed page, so it changes as few pages as possible.
 * Times of change are in the head's row. An index is not written if its column stays the same. New ids are not looked
 * up before they are written. Reasons: docs/decisions/003-node-sqlite.md.
 */
export async function createSqliteStore({ file, now = Date.now, busyMs = 5000 }: SqliteStoreOptions): Promise<Store> {
  let wakeFile: WakeFile | undefined;
  const committed = (): void => {
    cache.wrote();
    wakeFile?.touch();
  };
  const db = openDatabase({ file, busyMs, committed });
  const log = createLog({ db, now });
  const followers = createFollowers({
    async read(sessionId, after, most) {
      const stretch = log.readStretch(sessionId, after, most);
      if (stretch.events.length === 0) log.head(sessionId);
      return stretch;
    },
  });
  const leases = createLeases(db, now);
  const cache = createSessionCache(db);

  // Only commits of other connections change this number. So no events are read again after a commit of this
  // connection.
  const dataVersion = (): unknown => db.get("pragma data_version")?.["data_version"];
  const lastPosition = (): number => Number(db.get("select max(position) as n from events")?.["n"] ?? 0);
  let seenVersion = dataVersion();
  let seenPosition = lastPosition();

  function readChecked(sessionId: string, after: number, limit: number, tenant?: string) {
    if (tenant !== undefined) log.head(sessionId, tenant);
    const events = log.read(sessionId, after, limit);
    if (events.length === 0) log.head(sessionId);
    return events;
  }

  function readSession(sessionId: string): Session | undefined {
    const row = db.get(SESSION, sessionId);
    return row && cache.keep(row);
  }

  /** Checks for changes by other processes since the last check. */
  function lookAround(): void {
    const version = dataVersion();
    if (version === seenVersion) return;
    seenVersion = version;
    const changed = db.all("select distinct session_id from events where position > ?", seenPosition);
    seenPosition = lastPosition();
    for (const { session_id } of changed) followers.poke(session_id as string);
    for (const sessionId of followers.followed())
      if (!db.get("select 1 from heads where session_id = ?", sessionId)) followers.end(sessionId);
  }

  const sweep = setInterval(() => lookAround(), SWEEP_MS).unref();
  if (file !== ":memory:") wakeFile = openWakeFile(`${file}.wake`, () => lookAround());

  return {
    async append(sessionId, events, options = {}) {
      const appended = await db.write(() => {
        cache.forget(sessionId);
        return log.append(sessionId, events, options);
      });
      if (!appended.repeated) followers.deliver(sessionId, appended.events);
      return appended;
    },
    read: async (sessionId, { tenant, after = 0, limit = EVERYTHING } = {}) =>
      readChecked(sessionId, after, limit, tenant),
    async *follow(sessionId, { tenant, after = 0, onCaughtUp }, signal) {
      log.head(sessionId, tenant);
      yield* followers.follow(sessionId, { after, onCaughtUp }, signal);
    },
    async *scan(after = { sessionId: "", sequence: 0 }) {
      let place = after;
      for (;;) {
        const events = log.scan(place, 500);
        yield* events;
        const last = events.at(-1);
        if (!last) return;
        place = { sessionId: last.session_id, sequence: last.sequence };
      }
    },

    // Leases are not synced, because after a power failure the holder of a lease is gone too. The holder's appends make
    // the fence durable.
    claim: (options) => db.writeFleeting(() => leases.claim(options)),
    due: async (query) => leases.due(query),
    renew: (held) => db.writeFleeting(() => held.filter((lease) => !leases.renew(lease))),
    release: (lease, next) => db.writeFleeting(() => leases.release(lease, next)),
    async owners(sessionId) {
      const held = "select distinct owner from heads where owner is not null";
      const rows = sessionId === undefined ? db.all(held) : db.all(`${held} and session_id = ?`, sessionId);
      return rows.map(({ owner }) => owner as string);
    },
    free: (owner, { withinMs = Infinity } = {}) =>
      db.write(() => {
        db.run(
          "update heads set fence = fence + 1, owner = null, leased_until = 0 where owner = ? and leased_until <= ?",
          owner,
          now() + withinMs,
        );
      }),
    onNews: (listener) => followers.onNews(listener),
    poke: (sessionId) => followers.poke(sessionId),

    async get(sessionId, { tenant } = {}) {
      const session = cache.get([sessionId])?.[0] ?? readSession(sessionId);
      return tenant === undefined || session?.tenant === tenant ? session : undefined;
    },
    async list(query) {
      const key = JSON.stringify(query);
      const known = cache.page(key);
      if (known) return known;
      const page = listSessions({ db, cache }, query);
      cache.keepPage(key, page);
      return page;
    },
    count: async (filter) => countSessions(db, filter),
    usage: async (query) => usageOf(db, query),
    toolUsage: async (query) => toolUsageOf(db, query),
    async messages(sessionId, { tenant, limit = DEFAULT_LIMIT, cursor = "0" } = {}) {
      log.head(sessionId, tenant);
      const rows = db.all(
        `select id, session_id, number as sequence, role, content, tool_call_id, created_at from messages
          where session_id = ? and number > ? order by number limit ?`,
        sessionId,
        Number(cursor),
        limit + 1,
      );
      const items = rows.slice(0, limit).map(toMessageRow);
      return { items, cursor: rows.length > limit ? String(items.at(-1)?.sequence) : null };
    },
    async runs(sessionId, { tenant, limit = DEFAULT_LIMIT, cursor } = {}) {
      log.head(sessionId, tenant);
      const rows = db.all(
        "select * from runs where session_id = ? and number < ? order by number desc limit ?",
        sessionId ?? null,
        cursor === undefined ? EVERYTHING : Number(cursor),
        limit + 1,
      );
      const items = rows.slice(0, limit).map((row) => {
        const place = [sessionId, row["id"] as string];
        const files = db.all("select * from files where session_id = ? and run_id = ? order by place", ...place);
        const models = db.all("select * from run_models where session_id = ? and run_id = ? order by model", ...place);
        return toRun(row, files, models);
      });
      return { items, cursor: rows.length > limit ? String(items.at(-1)?.number) : null };
    },
    async awaits(sessionId, { tenant } = {}) {
      log.head(sessionId, tenant);
      return db
        .all("select * from awaits where session_id = ? and closed_at is null order by place", sessionId)
        .map(toAwait);
    },
    openAwaits: async (query) => listOpenAwaits(db, query),
    changed: async (query) => listChanged(db, query),
    summaries: async (tenant, sessionIds) => summariesOf(db, tenant, sessionIds),
    search: async (tenant, sessionIds, text) => placesOf(db, { tenant, sessionIds, text }),
    async checkpoints(sessionId, { tenant } = {}) {
      log.head(sessionId, tenant);
      return db
        .all("select * from checkpoints where session_id = ? order by created_at, id", sessionId)
        .map(toCheckpoint);
    },

    async readSnapshot(sessionId) {
      const sql = "select sequence, version, state from snapshots where session_id = ?";
      return db.get(sql, sessionId) as unknown as Snapshot | undefined;
    },
    writeSnapshot: (sessionId, { sequence, version, state }) =>
      db.write(() => {
        log.head(sessionId);
        db.run("insert or replace into snapshots values (?, ?, ?, ?)", sessionId, sequence, version, state);
      }),

    async delete(sessionId, { tenant } = {}) {
      await db.write(() => {
        cache.forget(sessionId);
        log.delete(sessionId, tenant);
      });
      followers.end(sessionId);
    },

    ...(file !== ":memory:" && { check: () => checkRoom(dirname(resolve(file))) }),
    records: createSqliteRecords({ db, now }),
    async close() {
      clearInterval(sweep);
      followers.close();
      db.close();
      wakeFile?.close();
      wakeFile = undefined;
    },
  };
}

/** Leases of sessions. Every method runs inside a write. */
function createLeases(db: Database, now: () => number) {
  function take(sessionId: string, { owner, leaseMs }: ClaimOptions, time: number): Claim {
    db.run(
      "update heads set fence = fence + 1, owner = ?, leased_until = ? where session_id = ?",
      owner,
      time + leaseMs,
      sessionId,
    );
    const { fence, last_sequence } = db.get(
      "select fence, last_sequence from heads where session_id = ?",
      sessionId,
    ) as unknown as Head;
    return { kind: "leased", lease: { sessionId, fence, owner, leaseMs }, lastSequence: last_sequence };
  }

  return {
    claim(options: ClaimOptions): Claim {
      const time = now();
      if (options.sessionId !== undefined) {
        const head = db.get("select leased_until, fact_version from heads where session_id = ?", options.sessionId);
        if (!head) throw sessionNotFound(options.sessionId);
        const { leased_until: until, fact_version } = head as unknown as Head;
        if (until > time + (options.takeWithinMs ?? 0)) return { kind: "busy", until };
        if (fact_version > FACT_VERSION) throw sessionUnreadable(options.sessionId);
        return take(options.sessionId, options, time);
      }
      const ready = db.get(
        `select session_id from heads where due_at <= ? and leased_until <= ? and fact_version <= ? order by due_at limit 1`,
        time,
        time,
        FACT_VERSION,
      );
      if (ready) return take(ready["session_id"] as string, options, time);
      const next = db.get(
        "select min(max(due_at, leased_until)) as at from heads where due_at is not null and fact_version <= ?",
        FACT_VERSION,
      );
      return { kind: "none", nextAt: (next?.["at"] as number | null) ?? null };
    },
    due({ before, sessionId, perTenant = EVERYTHING, limit = DUE_LIMIT }: DueQuery): readonly DueSession[] {
      const rows = db.all(
        `select session_id as sessionId, tenant, last_sequence as lastSequence, due_at as dueAt from (
           select *, row_number() over (partition by tenant order by due_at) as place from heads
           where due_at <= ?1 and fact_version <= ?2 and (session_id = ?3 or (?3 is null and leased_until <= ?4)))
         where place <= ?5 order by due_at limit ?6`,
        before,
        FACT_VERSION,
        sessionId ?? null,
        now(),
        perTenant,
        limit,
      );
      return rows as unknown as readonly DueSession[];
    },
    /** Renews a lease. Returns whether it is still held. */
    renew: (lease: Lease): boolean =>
      db.run(
        "update heads set leased_until = ? where session_id = ? and fence = ? and owner is not null",
        now() + lease.leaseMs,
        lease.sessionId,
        lease.fence,
      ) > 0,
    release(lease: Lease, { seen, dueAt }: { readonly seen: number; readonly dueAt: number | null }): void {
      const released = db.run(
        `update heads set fence = fence + 1, owner = null, leased_until = 0,
                due_at = case when last_sequence > ? then min(coalesce(due_at, ?), ?) else ? end
          where session_id = ? and fence = ? and owner is not null`,
        seen,
        now(),
        now(),
        dueAt,
        lease.sessionId,
        lease.fence,
      );
      if (released === 0) throw leaseLost(lease);
    },
  };
}
