import { createPostgresStore } from "@skein/adapters/stores/postgres";
import type { Store } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { type Event, createIds } from "@skein/protocol";
import pg from "pg";
import { afterEach, expect, inject, test } from "vitest";
import { createDatabase } from "../../../../scripts/postgres.ts";
import { storeBefore } from "./version-before.ts";

const server = inject("postgres");
const ids = createIds();
const createStoreBefore = await storeBefore();
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function emptyDatabase(): Promise<string> {
  const { url, drop } = await createDatabase(server.url, { template: "template1" });
  cleanups.push(drop);
  return url;
}

async function opened(create: typeof createPostgresStore, url: string): Promise<Store> {
  const store = await create({ url, poolSize: 4 });
  cleanups.push(() => store.close());
  return store;
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  cleanups.push(() => client.end());
  return client;
}

/** Makes a database of an earlier schema (7) with sessions. One event has a body that is stored as a blob. */
async function filled(sessions: number) {
  const url = await emptyDatabase();
  const before = await opened(createStoreBefore, url);
  const scripts = Array.from({ length: sessions }, () => createScript({ store: before, ids }));
  for (const script of scripts) {
    await script.create();
    await script.toolTurn("hi");
  }
  const metadata = { text: "x".repeat(20_000) };
  await scripts[0]?.append([{ event_type: "session.edited", data: { metadata } }]);
  return { url, before, scripts };
}

/** Holds the lock under which events are moved, as another process would. Returns a function that frees the lock. */
async function holdMover(url: string): Promise<() => Promise<unknown>> {
  const client = await connected(url);
  await client.query("select pg_advisory_lock(7304)");
  return () => client.query("select pg_advisory_unlock(7304)");
}

const wholeLog = (events: readonly Event[]): readonly number[] => events.map(({ sequence }) => sequence);
const counted = (length: number): readonly number[] => Array.from({ length }, (_, at) => at + 1);
const SINGLE = "select relname as name from pg_class where relname = 'events_single'";

test("a server of an earlier version keeps working while a new server migrates the database and moves the events", async () => {
  const { url, before, scripts } = await filled(12);
  const client = await connected(url);
  const over = new AbortController();
  let turns = 0;
  const [busy] = scripts;
  const working = (async () => {
    for (; !over.signal.aborted || turns < 5; turns++) {
      await busy?.toolTurn(`turn ${turns}`);
      const { items } = await before.list({ tenant: "default" });
      expect(items).toHaveLength(12);
      await before.read(busy?.sessionId ?? "");
    }
  })();
  const now = await opened(createPostgresStore, url);
  const newcomer = createScript({ store: now, ids, sessionId: scripts[1]?.sessionId ?? "" });
  await newcomer.toolTurn("from the new version");
  await expect.poll(async () => (await client.query(SINGLE)).rows).toEqual([]);
  over.abort();
  await working;

  for (const { sessionId } of scripts) {
    const log = await now.read(sessionId);
    expect(await before.read(sessionId)).toEqual(log);
    expect(wholeLog(log)).toEqual(counted(log.length));
  }
  const usage = { tenant: "default", by: "agent" } as const;
  expect(await before.usage(usage)).toEqual(await now.usage(usage));
  const { rows } = await client.query(
    "select tableoid::regclass::text as part, count(*)::integer as events from skein.log_events group by 1",
  );
  expect(rows.length).toBeGreaterThan(2);
  await before.delete(scripts[2]?.sessionId ?? "");
  expect(await now.get(scripts[2]?.sessionId ?? "")).toBeUndefined();
});

test("events that are not moved yet are read, recognised if appended again, scanned and deleted like moved events", async () => {
  const { url, before, scripts } = await filled(3);
  const release = await holdMover(url);
  const now = await opened(createPostgresStore, url);
  const client = await connected(url);
  const [first, second] = scripts;
  const id = first?.sessionId ?? "";
  const stored = await now.read(id);
  const again = stored.slice(-1).map(({ id: eventId, event_type, data }) => ({ id: eventId, event_type, data }));
  expect(await now.append(id, again as never)).toMatchObject({ repeated: true, events: stored.slice(-1) });
  await createScript({ store: now, ids, sessionId: id }).append([
    { event_type: "session.edited", data: { title: "later" } },
  ]);
  expect(wholeLog(await before.read(id))).toEqual(counted(stored.length + 1));
  let scanned = 0;
  for await (const event of now.scan()) scanned += Number(event.session_id === id);
  expect(scanned).toBe(stored.length + 1);
  await now.delete(second?.sessionId ?? "");
  const left = "select count(*)::integer as left from skein.events where session_id = $1";
  expect((await client.query(left, [second?.sessionId])).rows).toEqual([{ left: 0 }]);
  expect((await client.query(SINGLE)).rows).toEqual([{ name: "events_single" }]);

  await release();
  await expect.poll(async () => (await client.query(SINGLE)).rows).toEqual([]);
  expect(wholeLog(await now.read(id))).toEqual(counted(stored.length + 1));
  const { rows } = await client.query("select count(distinct position) = count(*) as once from skein.events");
  expect(rows).toEqual([{ once: true }]);
});

test("a migration that waits for a table lets running servers go first", async () => {
  const { url, before, scripts } = await filled(1);
  const reader = await connected(url);
  await reader.query("begin; select from skein.events limit 1");
  const opening = opened(createPostgresStore, url);
  const client = await connected(url);
  const waits = "select count(*)::integer as waiting from pg_locks where not granted and mode = 'AccessExclusiveLock'";
  await expect.poll(async () => (await client.query(waits)).rows).toEqual([{ waiting: 1 }]);
  await scripts[0]?.toolTurn("meanwhile");
  await reader.query("commit");
  const now = await opening;
  expect(await now.read(scripts[0]?.sessionId ?? "")).toEqual(await before.read(scripts[0]?.sessionId ?? ""));
});

/** Returns the tables and views that a connection waits for. The longest wait comes first. */
async function waitedFor(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select coalesce(c.relname, l.locktype) as name from pg_locks l left join pg_class c on c.oid = l.relation
    where not l.granted and l.locktype <> 'advisory' and (l.database = 0 or l.database is null or l.database =
      (select oid from pg_database where datname = current_database())) order by l.waitstart`,
  );
  return rows.map(({ name }) => name);
}

test("the end of a move of events never causes a deadlock for a server of an earlier version", async () => {
  const { url, scripts } = await filled(2);
  const reader = await connected(url);
  const client = await connected(url);
  const release = await holdMover(url);
  const now = await opened(createPostgresStore, url);
  await reader.query("begin; select from skein.events_single limit 1");
  await release();
  // All events are moved. The old table is still in use, so the migration waits to drop it.
  await expect.poll(() => waitedFor(client), { interval: 5 }).toContain("events_single");
  const [first, second] = scripts;
  const appending = [first, second].map((script) =>
    script?.append([{ event_type: "session.edited", data: { title: "meanwhile" } }]),
  );
  await Promise.race([Promise.all(appending), expect.poll(() => waitedFor(client), { interval: 5 }).not.toEqual([])]);
  await reader.query("commit");
  await Promise.all(appending);
  await expect.poll(async () => (await client.query(SINGLE)).rows).toEqual([]);
  expect((await now.read(first?.sessionId ?? "")).at(-1)).toMatchObject({ data: { title: "meanwhile" } });
});

test("a migration never causes a deadlock for a server of an earlier version", async () => {
  const { url, scripts } = await filled(1);
  const id = scripts[0]?.sessionId;
  const [server, other, client] = [await connected(url), await connected(url), await connected(url)];
  // To delete a session or append to several sessions, a server locks `runs` first and then `sessions`.
  await server.query("begin");
  await server.query("update skein.runs set number = number where session_id = $1", [id]);
  // Stops the migration between its first lock and its second lock.
  await other.query("begin; create table skein.open_runs (run_id uuid)");
  const opening = opened(createPostgresStore, url);
  await expect.poll(() => waitedFor(client), { interval: 5 }).not.toEqual([]);
  const changing = server.query("update skein.sessions set status = status where id = $1", [id]);
  await Promise.race([changing, expect.poll(() => waitedFor(client), { interval: 5 }).toContain("sessions")]);
  await other.query("rollback");
  await changing;
  await server.query("commit");
  const now = await opening;
  expect(await now.count({ tenant: "default" })).toBe(1);
});

test("a newer schema is opened unchanged if it works with this version, and is rejected if it does not", async () => {
  const url = await emptyDatabase();
  await (await opened(createPostgresStore, url)).close();
  const client = await connected(url);
  const functions = "select hash from skein.views";
  await client.query(`insert into skein.migrations (number, name, oldest) values (998, 'expand', 8);
    update skein.views set hash = 'of a newer version'`);
  const store = await opened(createPostgresStore, url);
  await createScript({ store, ids }).create();
  expect((await client.query(functions)).rows).toEqual([{ hash: "of a newer version" }]);
  await client.query("insert into skein.migrations (number, name, oldest) values (999, 'contract', 998)");
  await expect(createPostgresStore({ url })).rejects.toMatchObject({ code: "store_too_new" });
});
