import {
  DUE_LIMIT,
  type Snapshot,
  type Store,
  type Stretch,
  type StretchLimit,
  createFollowers,
  leaseLost,
  sessionNotFound,
} from "@skein/core";
import { type Event, FACT_VERSION, KnownError, Uuid } from "@skein/protocol";
import { randomBytes } from "node:crypto";
import { LAST_SEQUENCE, createAppend } from "./append.ts";
import { claimOf } from "./claim-answer.ts";
import { createConnections } from "./connections.ts";
import { createEventMover } from "./event-mover.ts";
import type { Statement, TextRow } from "./query.ts";
import { countSessions, listSessions, pageOfMessages, pageOfRuns } from "./lists.ts";
import { migrate } from "./migrate.ts";
import { createRollUp } from "./roll-up.ts";
import { toolUsageOf, usageOf } from "./usage.ts";
import { refusePooler } from "./refuse-pooler.ts";
import { createNotifications } from "./notifications.ts";
import { createServerClock, onServerClock } from "./server-clock.ts";
import { listChanged, listOpenAwaits, placesOf, summariesOf } from "./tenant-lists.ts";
import { createPostgresRecords } from "./records.ts";
import {
  AWAIT_COLUMNS,
  CHECKPOINT_COLUMNS,
  BODY_COLUMN,
  EVENT_COLUMNS,
  SESSION_COLUMNS,
  awaitOf,
  checkpointOf,
  eventOf,
  sessionOf,
} from "./rows.ts";

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /**
   * The number of connections for reads and leases. Up to four more connections append, one listens and notifies, and
   * one runs urgent statements.
   */
  readonly poolSize?: number;
  /** The clock for the times of events. Leases and timers use the database's clock. */
  readonly now?: () => number;
  /** The clock of this machine, which callers use for due times. */
  readonly clock?: () => number;
}

const SCAN_PAGE = 1000;

const statement = (name: string, text: string): Statement => ({ name: `skein-${name}`, text });

const READ = statement(
  "read",
  `select ${EVENT_COLUMNS} from skein.events e
  where e.session_id = $1 and e.sequence > $2 and e.sequence <= $3
    and ($4::text is null or exists (select from skein.heads h where h.session_id = $1 and h.tenant = $4))`,
);
/** Reads rows until their bodies fill the given number of bytes, so that large events beyond it are not read. */
const READ_STRETCH = statement(
  "read-stretch",
  `with recursive stretch as (
    select e.sequence, octet_length(${BODY_COLUMN}) as size
    from skein.events e where e.session_id = $1 and e.sequence = $2::int + 1
    union all
    select e.sequence, s.size + octet_length(${BODY_COLUMN})
    from stretch s join skein.events e on e.session_id = $1 and e.sequence = s.sequence + 1
    where s.size < $4 and s.sequence < $3
  )
  select ${EVENT_COLUMNS}, s.size from stretch s join skein.events e on e.session_id = $1 and e.sequence = s.sequence
  where e.sequence > $2 and e.sequence <= $3
  order by s.sequence`,
);
/** The column with the total size up to this row. */
const SIZE = 6;
const EXISTS = statement(
  "exists",
  "select 1 from skein.heads where session_id = $1 and ($2::text is null or tenant = $2)",
);
const SCAN = {
  ...statement(
    "scan",
    `select ${EVENT_COLUMNS} from skein.events e where (e.session_id, e.sequence) > ($1::uuid, $2::integer)
  order by e.session_id, e.sequence limit $3`,
  ),
  patient: true,
};
const CLAIM = statement("claim", "select skein.claim($1, $2, $3, $4, $5)");
const DUE_COLUMNS = "session_id, tenant, last_sequence, floor(extract(epoch from due_at) * 1000)";
const DUE = statement(
  "due",
  `select ${DUE_COLUMNS} from (
    select h.*, row_number() over (partition by h.tenant order by h.due_at) as place from skein.heads h
    where h.due_at <= $1::timestamptz and h.fact_version <= $2
      and (h.leased_until is null or h.leased_until <= clock_timestamp())) h
  where h.place <= $3 order by h.due_at limit $4`,
);
const DUE_SESSION = statement(
  "due-session",
  `select ${DUE_COLUMNS} from skein.heads where due_at <= $1::timestamptz and fact_version <= $2 and session_id = $3`,
);
/** The latest time in a query. JavaScript writes later years with a sign and six digits. */
const LATEST = Date.UTC(9999, 11, 31);
const RENEW = statement("renew", "select session_id, fence from skein.renew($1, $2, $3)");
const RELEASE = statement("release", "select skein.release($1, $2, $3, $4)");
const OWNERS = statement("owners", "select distinct owner from skein.heads where owner is not null");
const OWNER_OF = statement("owner-of", "select owner from skein.heads where session_id = $1 and owner is not null");
const FREE = statement("free", "select skein.free($1, $2)");
const GET = statement(
  "get",
  `select ${SESSION_COLUMNS} from skein.sessions s join skein.heads h on h.session_id = s.id
  where s.id = $1 and ($2::text is null or s.tenant = $2)`,
);
const AWAITS = statement(
  "awaits",
  `select ${AWAIT_COLUMNS} from skein.awaits a where a.session_id = $1 and a.closed_at is null order by a.place`,
);
const CHECKPOINTS = statement(
  "checkpoints",
  `select ${CHECKPOINT_COLUMNS} from skein.checkpoints c where c.session_id = $1 order by c.place`,
);
const READ_SNAPSHOT = statement(
  "read-snapshot",
  "select sequence, version, state from skein.snapshots where session_id = $1",
);
const WRITE_SNAPSHOT = statement(
  "write-snapshot",
  `insert into skein.snapshots (session_id, sequence, version, state)
  select h.session_id, $2, $3, $4 from skein.heads h where h.session_id = $1
  on conflict (session_id) do update
    set sequence = excluded.sequence, version = excluded.version, state = excluded.state
  returning session_id`,
);
const DELETE = { ...statement("delete", "select skein.delete_session($1, $2)"), patient: true };

/**
 * The store for production: one PostgreSQL, any number of processes.
 *
 * Appends, claims, releases and deletions are each one function in the database and one round trip. An append passes
 * its events directly to the followers (readers of new events) in this process. Other processes are notified by NOTIFY
 * after the commit, and find missed events by a sweep.
 */
export async function createPostgresStore({
  url,
  poolSize = 6,
  now = Date.now,
  clock = Date.now,
}: PostgresStoreOptions): Promise<Store> {
  const connections = createConnections({ url, poolSize });
  try {
    await refusePooler(connections);
    await connections.withClient(migrate);
  } catch (error) {
    await connections.close();
    throw error;
  }

  const { query, urgent } = connections;
  const followers = createFollowers({ read: readStretch });
  const notifications = createNotifications({ connections, followers, instance: randomBytes(6).toString("hex") });
  const append = createAppend({
    connections,
    now,
    read: (sessionId, first, last) => read(sessionId, { after: first - 1, limit: last - first + 1 }),
  });
  const mover = createEventMover(connections);
  const rollUp = createRollUp(connections);
  const serverClock = createServerClock({ query, clock });
  await Promise.all([notifications.listening, serverClock.measure()]);

  /** Rejects an unknown session. If the id is not a UUID, no query is needed. */
  async function mustExist(sessionId: string, tenant: string | undefined): Promise<void> {
    if (connections.closed) throw new KnownError("closed", "The store is closed.");
    if (!isUuid(sessionId) || (await query(EXISTS, [sessionId, tenant ?? null])).length === 0)
      throw sessionNotFound(sessionId);
  }

  async function read(
    sessionId: string,
    { tenant, after = 0, limit }: { readonly tenant?: string; readonly after?: number; readonly limit?: number },
  ): Promise<readonly Event[]> {
    // Sequences have no gaps, so the limit gives the last sequence. Rows are sorted here, because PostgreSQL would have
    // to sort whole bodies. For a long log it would sort them on disk.
    const last = limit === undefined ? LAST_SEQUENCE : Math.min(after + limit, LAST_SEQUENCE);
    const rows = isUuid(sessionId) ? await query(READ, [sessionId, after, last, tenant ?? null]) : [];
    // The answer is empty, so a second query checks whether the session exists.
    if (rows.length === 0) await mustExist(sessionId, tenant);
    return rows.map(eventOf).sort((a, b) => a.sequence - b.sequence);
  }

  async function readStretch(sessionId: string, after: number, { events, bytes }: StretchLimit): Promise<Stretch> {
    const last = Math.min(after + events, LAST_SEQUENCE);
    const rows = isUuid(sessionId) ? await query(READ_STRETCH, [sessionId, after, last, bytes]) : [];
    if (rows.length === 0) await mustExist(sessionId, undefined);
    return { events: rows.map(eventOf), full: rows.length === events || Number(rows.at(-1)?.[SIZE] ?? 0) >= bytes };
  }

  const store: Store = {
    async append(sessionId, events, options = {}) {
      const appended = await append(sessionId, events, options);
      if (appended.repeated) return appended;
      rollUp.noted();
      followers.deliver(sessionId, appended.events);
      notifications.announce(sessionId, appended.events.at(-1)?.sequence ?? 0);
      return appended;
    },
    read: (sessionId, options = {}) => read(sessionId, options),
    async *follow(sessionId, { tenant, after = 0, onCaughtUp }, signal) {
      const known = followers.tenantOf(sessionId);
      if (known === undefined || (tenant !== undefined && tenant !== known)) await mustExist(sessionId, tenant);
      yield* followers.follow(sessionId, { after, onCaughtUp }, signal);
    },
    async *scan(after) {
      let [sessionId, sequence] = [after?.sessionId ?? "00000000-0000-0000-0000-000000000000", after?.sequence ?? 0];
      for (;;) {
        const rows = await query(SCAN, [sessionId, sequence, SCAN_PAGE]);
        for (const row of rows) {
          const event = eventOf(row);
          [sessionId, sequence] = [event.session_id, event.sequence];
          yield event;
        }
        if (rows.length < SCAN_PAGE) return;
      }
    },

    async claim({ owner, leaseMs, sessionId, takeWithinMs = 0 }) {
      if (sessionId !== undefined && !isUuid(sessionId)) throw sessionNotFound(sessionId);
      const [row] = await query(CLAIM, [sessionId ?? null, owner, leaseMs, FACT_VERSION, takeWithinMs]);
      return claimOf(row?.[0] ?? "", { owner, leaseMs, sessionId: sessionId ?? "" });
    },
    async due({ before, sessionId, perTenant, limit = DUE_LIMIT }) {
      if (sessionId !== undefined && !isUuid(sessionId)) return [];
      const values = [new Date(Math.min(before, LATEST)).toISOString(), FACT_VERSION];
      const rows = await (sessionId === undefined
        ? urgent(DUE, [...values, perTenant ?? limit, limit])
        : query(DUE_SESSION, [...values, sessionId]));
      return rows.map(([id, tenant, last, dueAt]) => {
        return { sessionId: id ?? "", tenant: tenant ?? "", lastSequence: Number(last), dueAt: Number(dueAt) };
      });
    },
    async renew(leases) {
      const held = await urgent(RENEW, [
        leases.map(({ sessionId }) => sessionId),
        leases.map(({ fence }) => fence),
        leases.map(({ leaseMs }) => leaseMs),
      ]);
      const renewed = new Set(held.map(([sessionId, fence]) => `${sessionId} ${fence}`));
      return leases.filter(({ sessionId, fence }) => !renewed.has(`${sessionId} ${fence}`));
    },
    async release(lease, { seen, dueAt }) {
      const [row] = await query(RELEASE, [lease.sessionId, lease.fence, seen, dueAt]);
      if (row?.[0] === "not_found") throw sessionNotFound(lease.sessionId);
      if (row?.[0] === "lease_lost") throw leaseLost(lease);
      // Other workers learn that the session may be due again.
      notifications.announce(lease.sessionId, seen);
    },
    async owners(sessionId) {
      const rows = sessionId === undefined ? await urgent(OWNERS) : await query(OWNER_OF, [sessionId]);
      return rows.map(([owner]) => owner ?? "");
    },
    async free(owner, { withinMs } = {}) {
      await urgent(FREE, [owner, withinMs ?? null]);
    },
    onNews: (listener) => followers.onNews(listener),
    poke: (sessionId) => followers.poke(sessionId),

    async get(sessionId, { tenant } = {}) {
      if (!isUuid(sessionId)) return undefined;
      const [row] = await query(GET, [sessionId, tenant ?? null]);
      return row && sessionOf(row);
    },
    list: (sessionQuery) => listSessions(connections, sessionQuery),
    count: (filter) => countSessions(connections, filter),
    usage: (query) => usageOf(connections, query),
    toolUsage: (query) => toolUsageOf(connections, query),
    async messages(sessionId, options = {}) {
      await mustExist(sessionId, options.tenant);
      return pageOfMessages(connections, sessionId, options);
    },
    async runs(sessionId, options = {}) {
      await mustExist(sessionId, options.tenant);
      return pageOfRuns(connections, sessionId, options);
    },
    async awaits(sessionId, { tenant } = {}) {
      await mustExist(sessionId, tenant);
      return (await query(AWAITS, [sessionId])).map(awaitOf);
    },
    openAwaits: (query) => listOpenAwaits(connections, query),
    changed: (query) => listChanged(connections, query),
    summaries: (tenant, sessionIds) => summariesOf(connections, tenant, sessionIds),
    search: (tenant, sessionIds, text) => placesOf(connections, { tenant, sessionIds, text }),
    async checkpoints(sessionId, { tenant } = {}) {
      await mustExist(sessionId, tenant);
      return (await query(CHECKPOINTS, [sessionId])).map(checkpointOf);
    },

    async readSnapshot(sessionId) {
      const [row] = isUuid(sessionId) ? await query(READ_SNAPSHOT, [sessionId]) : [];
      return row && snapshotOf(row);
    },
    async writeSnapshot(sessionId, { sequence, version, state }) {
      if (!isUuid(sessionId)) throw sessionNotFound(sessionId);
      const written = await query(WRITE_SNAPSHOT, [sessionId, sequence, version, state]);
      if (written.length === 0) throw sessionNotFound(sessionId);
    },

    async delete(sessionId, { tenant } = {}) {
      const [row] = isUuid(sessionId) ? await query(DELETE, [sessionId, tenant ?? null]) : [];
      if (row?.[0] !== "t") throw sessionNotFound(sessionId);
      followers.end(sessionId);
      notifications.announce(sessionId, -1);
    },

    records: createPostgresRecords(connections, now),
    async close() {
      if (connections.closed) return;
      mover.stop();
      rollUp.stop();
      serverClock.stop();
      followers.close();
      await notifications.close();
      await connections.close();
    },
  };
  return onServerClock(store, serverClock);
}

function isUuid(id: string): boolean {
  return Uuid.safeParse(id).success;
}

function snapshotOf([sequence, version, state]: TextRow): Snapshot {
  return { sequence: Number(sequence), version: Number(version), state: state ?? "" };
}
