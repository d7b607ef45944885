import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { type Appended, type Store, foldAll } from "@skein/core";
import { createScript, describeStore } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { storeBefore } from "./versions/version-before.ts";
import { type Database, createDatabase, startPostgres } from "../../../scripts/postgres.ts";
import { PATIENCE_MS } from "../../../scripts/patience.ts";

const server = inject("postgres");
const ids = createIds();
const edited = { event_type: "session.edited" as const, data: { title: "t" } };

const CREATE_UNDER_A_KEY = `
  select skein.append(
    $1, null, true, date_trunc('milliseconds', now()), 1::smallint,
    array[gen_random_uuid()], array['session.created'], array[null]::uuid[], array['{}'], null, null,
    0, null, null, null, 'tenant', 'key', 'fingerprint', null, false, null, 0, 0, null, null, null, null, null,
    null, null, null, null, null, null, null, null, null,
    jsonb_build_object('metadata', '{}', 'session', jsonb_build_object(
      'tenant', 'tenant', 'agent_id', $1::uuid, 'agent_version', 1, 'tags', '[]'::jsonb, 'model', 'm',
      'status', 'idle', 'created_at', now(), 'updated_at', now()))) as answer`;

// The tests of `describeStore` share a database, because creating a database takes longer than most tests. The database
// is emptied after each test.
let shared: Database;
beforeAll(async () => {
  shared = await createDatabase(server.url, { template: server.template });
});
afterAll(() => shared.drop());

describeStore("postgres", async () => {
  const open = () => createPostgresStore({ url: shared.url, poolSize: 6 });
  let store = await open();
  return {
    store,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    another: open,
    async cleanup() {
      const client = new pg.Client(shared.url);
      await client.connect();
      await client.query(
        "delete from skein.events; delete from skein.messages; delete from skein.runs; delete from skein.sessions; delete from skein.heads; delete from skein.blobs; delete from skein.records",
      );
      await client.end();
    },
  };
});

describe("postgres: failures", () => {
  test("an append that PostgreSQL ended because of a deadlock is repeated, and its events are stored once", async () => {
    const store = await createPostgresStore({ url: shared.url });
    const other = new pg.Client(shared.url);
    await other.connect();
    try {
      const script = createScript({ store, ids });
      await script.create();
      // At a deadlock PostgreSQL ends the append, because this connection does not check for deadlocks for an hour.
      await other.query("set deadlock_timeout = '1h'; begin; lock table skein.log_events in exclusive mode");
      const appending = script.append([edited]);
      const waits =
        "select count(*)::integer as n from pg_locks where not granted and relation = 'skein.log_events'::regclass";
      await expect.poll(async () => (await other.query(waits)).rows).toEqual([{ n: 1 }]);
      await other.query("select from skein.heads where session_id = $1 for update", [script.sessionId]);
      await other.query("commit");
      await appending;
      expect((await store.read(script.sessionId)).map(({ event_type }) => event_type)).toEqual([
        "session.created",
        "session.edited",
      ]);
    } finally {
      await other.end();
      await store.close();
    }
  });

  test("heartbeats, renewals, sweeps and the leases of a dead worker do not wait for the statements of sessions", async () => {
    const store = await createPostgresStore({ url: shared.url, poolSize: 1 });
    const other = new pg.Client(shared.url);
    await other.connect();
    try {
      const script = createScript({ store, ids });
      await script.create();
      const claim = await store.claim({ owner: "a", leaseMs: 60_000, sessionId: script.sessionId });
      if (claim.kind !== "leased") throw new Error("The session was not claimed.");
      await other.query("begin; lock table skein.sessions in access exclusive mode");
      let isAnswered = false;
      const slow = Promise.all([store.get(script.sessionId), store.get(script.sessionId)]).then(
        () => (isAnswered = true),
      );
      expect(await store.renew([claim.lease])).toEqual([]);
      await store.records.put([{ tenant: "$workers", kind: "worker", id: "a", value: {} }]);
      expect((await store.records.list({ tenant: "$workers", kind: "worker" })).items).toHaveLength(1);
      await store.records.delete("$workers", "worker", "a");
      expect(await store.due({ before: Date.now() })).toEqual([]);
      await store.free("a");
      expect(await store.owners()).not.toContain("a");
      expect(isAnswered).toBe(false);
      await other.query("commit");
      await slow;
    } finally {
      await other.end();
      await store.close();
    }
  });

  const HOUR = 3_600_000;
  test.each([
    ["an hour ahead", HOUR],
    ["an hour behind", -HOUR],
  ])("with a machine's clock %s, sessions wake immediately and timers fire at their time", async (_, wrong) => {
    const url = await database();
    const clock = (): number => Date.now() + wrong;
    const [strange, right] = await Promise.all([
      createPostgresStore({ url, poolSize: 2, clock }),
      createPostgresStore({ url, poolSize: 2 }),
    ]);
    cleanups.push(async () => void (await Promise.all([strange.close(), right.close()])));
    const script = createScript({ store: strange, ids });
    await script.create();
    const { sessionId, event } = script;
    await strange.append(sessionId, [event(edited)], { dueAt: clock() });
    // The wrong clock does not shift the time: the session is due now, not an hour earlier or later.
    const [due] = await right.due({ before: Infinity, sessionId });
    expect(Math.abs((due?.dueAt ?? 0) - Date.now())).toBeLessThan(10_000);
    // The difference of the clocks is known to a few milliseconds, so the session may become due a few milliseconds
    // late.
    const claim = await vi.waitFor(async () => {
      const claimed = await right.claim({ owner: "right", leaseMs: 4000 });
      expect(claimed).toMatchObject({ kind: "leased", lease: { sessionId } });
      return claimed;
    }, PATIENCE_MS);
    if (claim.kind !== "leased") return;
    const inTenMinutes = Date.now() + 600_000;
    await right.release(claim.lease, { seen: claim.lastSequence, dueAt: inTenMinutes });
    expect(await strange.due({ before: clock() + 590_000 })).toEqual([]);
    const [later] = await strange.due({ before: clock() + 610_000 });
    expect(Math.abs((later?.dueAt ?? 0) - (inTenMinutes + wrong))).toBeLessThan(10_000);
    const next = await strange.claim({ owner: "strange", leaseMs: 4000 });
    expect(next).toMatchObject({ kind: "none" });
  });

  const cleanups: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function database(template = server.template): Promise<string> {
    const { url, drop } = await createDatabase(server.url, { template });
    cleanups.push(drop);
    return url;
  }

  async function opened(url: string): Promise<Store> {
    const store = await createPostgresStore({ url, poolSize: 4 });
    cleanups.push(() => store.close());
    return store;
  }

  async function connected(url: string): Promise<pg.Client> {
    const client = new pg.Client(url);
    await client.connect();
    cleanups.push(() => client.end());
    return client;
  }

  test("many stores may migrate an empty database at the same time", async () => {
    const url = await database("template1");
    const [store, other] = await Promise.all([opened(url), opened(url), opened(url), opened(url)]);
    const script = createScript({ store, ids });
    await script.create();
    expect(await other.read(script.sessionId)).toHaveLength(1);
    const client = await connected(url);
    const { rows } = await client.query("select number from skein.migrations order by number");
    expect(rows).toEqual(
      [1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21].map((number) => ({ number })),
    );
  });

  test("the next server that starts creates an index that a migration did not finish", async () => {
    const url = await database("template1");
    await opened(url);
    const client = await connected(url);
    // Indexes are made last, so after a crash newer migrations may be applied without the indexes.
    await client.query("delete from skein.migrations where number = 14; drop index skein.sessions_unknown_effect");
    await opened(url);
    const { rows } = await client.query("select to_regclass('skein.sessions_unknown_effect') is not null as there");
    expect(rows).toEqual([{ there: true }]);
  });

  test("a database with an old schema is updated, including the usage of its runs and the current functions", async () => {
    const url = await database("template1");
    const before = await (await storeBefore())({ url, poolSize: 4 });
    cleanups.push(() => before.close());
    const script = createScript({ store: before, ids });
    await script.create({ metadata: { user: "ada" } });
    await script.toolTurn("hi");
    const runs = await before.runs(script.sessionId);
    expect(runs.items[0]?.models).toHaveLength(1);
    const client = await connected(url);
    await client.query(`${withoutExactCost("heads", "runs")}
      drop table skein.run_models; drop index skein.sessions_used; drop index skein.sessions_last_used;
      drop trigger session_metadata_begun on skein.sessions; drop trigger session_metadata_changed on skein.sessions;
      drop function skein.keep_metadata; drop function skein.metadata_pairs; drop table skein.session_metadata;
      delete from skein.migrations where number > 1;
      insert into skein.migrations (number, name) values (2, 'append'), (3, 'verbs');
      drop function skein.delete_session; update skein.views set hash = 'of before'`);
    const store = await opened(url);
    expect(await store.runs(script.sessionId)).toEqual(runs);
    expect(await store.count({ tenant: "default", metadata: [["user", "ada"]] })).toBe(1);
    await script.toolTurn("again");
    await store.delete(script.sessionId);
  });

  test("a database of a newer Skein is rejected with an error that names its schema", async () => {
    const url = await database();
    const client = await connected(url);
    await client.query("insert into skein.migrations (number, name) values (999, 'from the future')");
    const opening = createPostgresStore({ url });
    await expect(opening).rejects.toMatchObject({ code: "store_too_new", message: expect.stringContaining("999") });
  });

  test("a session with facts of a newer version is not claimed", async () => {
    const url = await database();
    const store = await opened(url);
    const script = createScript({ store, ids });
    await script.create();
    await script.prompt("hi");
    const client = await connected(url);
    await client.query("update skein.heads set fact_version = 99");
    expect(await store.claim({ owner: "w", leaseMs: 1000 })).toEqual({ kind: "none", nextAt: null });
    const named = store.claim({ owner: "w", leaseMs: 1000, sessionId: script.sessionId });
    await expect(named).rejects.toMatchObject({ code: "unreadable" });
  });

  test("a row that is not a valid fact is read unchanged, and only `foldAll` rejects it", async () => {
    const url = await database();
    const store = await opened(url);
    const script = createScript({ store, ids });
    await script.create();
    await script.append([edited]);
    const client = await connected(url);
    await client.query(
      `update skein.events set event_type = 'from.elsewhere', data = '"not an object"' where sequence = 2`,
    );
    const events = await store.read(script.sessionId);
    expect(events[1]).toMatchObject({ event_type: "from.elsewhere", data: "not an object" });
    expect(() => foldAll(script.sessionId, events)).toThrow(expect.objectContaining({ code: "unreadable" }));
  });

  test("an id that is not a UUID counts as the id of an unknown session", async () => {
    const store = await opened(await database());
    const script = createScript({ store, ids, sessionId: "'; drop table skein.events; --" });
    await expect(script.append([edited])).rejects.toMatchObject({ code: "not_found" });
    await expect(store.read("nope")).rejects.toMatchObject({ code: "not_found" });
    await expect(store.claim({ owner: "w", leaseMs: 1, sessionId: "nope" })).rejects.toMatchObject({
      code: "not_found",
    });
    expect(await store.get("nope")).toBeUndefined();
    expect(await store.readSnapshot("nope")).toBeUndefined();
    await expect(store.delete("nope")).rejects.toMatchObject({ code: "not_found" });
  });

  test("an invalid cursor and an invalid date are rejected", async () => {
    const store = await opened(await database());
    const listed = (query: object) => store.list({ tenant: "default", ...query });
    await expect(listed({ cursor: "x" })).rejects.toMatchObject({ code: "invalid" });
    await expect(listed({ createdAfter: "yesterday-ish" })).rejects.toMatchObject({ code: "invalid" });
    const script = createScript({ store, ids });
    await script.create();
    await expect(store.messages(script.sessionId, { cursor: "x" })).rejects.toMatchObject({ code: "invalid" });
  });

  test("a value that cannot be written as JSON is rejected, and nothing of it is stored", async () => {
    const store = await opened(await database());
    const script = createScript({ store, ids });
    await script.create();
    const metadata: Record<string, unknown> = {};
    metadata["itself"] = metadata;
    const circular = script.append([{ event_type: "session.edited", data: { metadata } }]);
    await expect(circular).rejects.toMatchObject({ code: "invalid" });
    expect(await store.read(script.sessionId)).toHaveLength(1);
  });

  test("a read-only database is reported as read-only", async () => {
    const url = await database();
    const store = await opened(url);
    const script = createScript({ store, ids });
    await script.create();
    const readOnly = await opened(`${url}?options=${encodeURIComponent("-c default_transaction_read_only=on")}`);
    expect(await readOnly.read(script.sessionId)).toHaveLength(1);
    const append = readOnly.append(script.sessionId, [script.event(edited)]);
    await expect(append).rejects.toMatchObject({ code: "read_only" });
  });

  test("a blob (the body of a large event) is kept only while a session refers to it", async () => {
    const url = await database();
    const store = await opened(url);
    const client = await connected(url);
    const count = async () => Number((await client.query("select count(*) from skein.blobs")).rows[0].count);
    const metadata = { text: "x".repeat(300_000) };
    const scripts = [createScript({ store, ids }), createScript({ store, ids })];
    for (const script of scripts) {
      await script.create();
      await script.append([{ event_type: "session.edited", data: { metadata } }]);
    }
    expect(await count()).toBe(1);
    await store.delete(scripts[0]?.sessionId ?? "");
    const [, kept] = await store.read(scripts[1]?.sessionId ?? "");
    expect(kept?.data).toEqual({ metadata });
    await store.delete(scripts[1]?.sessionId ?? "");
    expect(await count()).toBe(0);
  });

  test("deleting a session removes its rows from every table", async () => {
    const url = await database();
    const store = await opened(url);
    const script = createScript({ store, ids });
    await script.create();
    await script.toolTurn("hi");
    await store.append(script.sessionId, [script.event(edited)], {
      tenant: "default",
      key: { id: "k", fingerprint: "f" },
    });
    await store.writeSnapshot(script.sessionId, { sequence: 1, version: 1, state: "{}" });
    await store.delete(script.sessionId);
    const client = await connected(url);
    for (const table of [
      "heads",
      "events",
      "sessions",
      "runs",
      "messages",
      "awaits",
      "checkpoints",
      "files",
      "snapshots",
      "keys",
    ]) {
      const { rows } = await client.query(`select count(*)::integer as left from skein.${table}`);
      expect([table, rows[0].left]).toEqual([table, 0]);
    }
  });

  test("idempotency keys and fields of records may be longer than an index entry", async () => {
    const store = await opened(await database());
    const script = createScript({ store, ids });
    await script.create();
    const key = { id: "\0k".repeat(5000), fingerprint: "f" };
    const append = () => store.append(script.sessionId, [script.event(edited)], { tenant: "default", key });
    expect([(await append()).repeated, (await append()).repeated]).toEqual([false, true]);
    const long = "v".repeat(10_000);
    await store.records.put([{ tenant: "t", kind: "k", id: "i", value: 1, fields: { name: long } }]);
    const found = await store.records.list({ tenant: "t", kind: "k", field: { name: "name", value: long } });
    expect(found.items).toHaveLength(1);
  });

  test("many concurrent creations with the same idempotency key or id make one session", async () => {
    const url = await database();
    const [store, other] = [await opened(url), await opened(url)];
    const script = createScript({ store, ids });
    await script.create();
    const [created] = await store.read(script.sessionId);
    if (created?.event_type !== "session.created") throw new Error("A log begins with its creation.");
    const event = () => script.event({ event_type: "session.created", data: created.data });
    const twenty = (append: (store: Store) => Promise<Appended>) =>
      Promise.all(Array.from({ length: 20 }, (_, i) => append(i % 2 === 0 ? store : other)));

    const key = { id: "create", fingerprint: "f" };
    const byKey = await twenty((either) => either.append(ids(), [event()], { expect: 0, key }));
    expect(new Set(byKey.map(({ events }) => events[0]?.session_id)).size).toBe(1);

    const [sessionId, sameEvent] = [ids(), event()];
    const same = await twenty((either) => either.append(sessionId, [sameEvent], { expect: 0 }));
    expect(same.filter(({ repeated }) => !repeated)).toHaveLength(1);
  });

  test("a second append with the same idempotency key waits until the first append is committed, and returns the same session", async () => {
    const url = await database();
    const [first, second] = [await connected(url), await connected(url)];
    const create = async (client: pg.Client, sessionId: string): Promise<unknown> =>
      (await client.query({ text: CREATE_UNDER_A_KEY, values: [sessionId] })).rows[0];
    const [mine, theirs] = [ids(), ids()];
    await first.query("begin");
    expect(await create(first, mine)).toEqual({ answer: `written ${mine} 1 1 0` });
    const waiting = create(second, theirs);
    await sleep(100);
    await first.query("commit");
    expect(await waiting).toEqual({ answer: `repeated ${mine} 1 1` });
  });

  test("a claim skips a session that is being claimed, and a claim by id waits and finds the session busy", async () => {
    const url = await database();
    const script = createScript({ store: await opened(url), ids });
    await script.create();
    await script.prompt("hi");
    const [first, second] = [await connected(url), await connected(url)];
    const claim = async (client: pg.Client, sessionId: string | null): Promise<unknown> =>
      (await client.query("select split_part(skein.claim($1, 'w', 60000, 1::smallint), ' ', 1) as code", [sessionId]))
        .rows[0];
    await first.query("begin");
    expect(await claim(first, null)).toEqual({ code: "leased" });
    expect(await claim(second, null)).toEqual({ code: "none" });
    const named = claim(second, script.sessionId);
    await sleep(100);
    await first.query("commit");
    expect(await named).toEqual({ code: "busy" });
  });

  test("an append that the database rejects does not affect appends in the same transaction", async () => {
    const store = await opened(await database());
    const script = createScript({ store, ids });
    await script.create();
    const lease = await script.claim();
    const checkpoint = (path: string) =>
      script.event({
        event_type: "checkpoint.created",
        data: { checkpoint_id: ids(), user_message_uuid: path, files_modified: [path] },
      });
    const appends = Array.from({ length: 40 }, (_, i) =>
      store.append(script.sessionId, [checkpoint(i === 20 ? "relative" : `/${i}`)], { lease }),
    );
    const settled = await Promise.allSettled(appends);
    expect(settled.filter(({ status }) => status === "rejected")).toMatchObject([{ reason: { code: "invalid" } }]);
    expect((await store.read(script.sessionId)).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 40 }, (_, i) => i + 1),
    );
  });

  test("while PostgreSQL restarts, calls fail with store_unavailable, and afterwards nothing is lost and followers continue", async () => {
    const own = await startPostgres();
    cleanups.push(own.stop);
    const store = await opened(own.url);
    const other = await opened(own.url);
    const script = createScript({ store, ids });
    await script.create();
    const seen: number[] = [];
    const stop = new AbortController();
    const following = (async () => {
      for await (const { sequence } of store.follow(script.sessionId, {}, stop.signal)) seen.push(sequence);
    })();
    await expect.poll(() => seen).toEqual([1]);

    await own.crash();
    await expect(script.append([edited])).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(store.read(script.sessionId)).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(createPostgresStore({ url: own.url })).rejects.toMatchObject({ code: "store_unavailable" });

    await own.start();
    await script.append([edited]);
    await other.append(script.sessionId, [script.event(edited)]);
    expect(await store.read(script.sessionId)).toHaveLength(3);
    await expect.poll(() => seen).toEqual([1, 2, 3]);
    stop.abort();
    await following;
  });

  test("a follower finds events that were inserted without an announcement", async () => {
    const url = await database();
    const store = await opened(url);
    const script = createScript({ store, ids });
    await script.create();
    const seen: number[] = [];
    const stop = new AbortController();
    const following = (async () => {
      for await (const { sequence } of store.follow(script.sessionId, {}, stop.signal)) seen.push(sequence);
    })();
    await expect.poll(() => seen).toEqual([1]);
    const client = await connected(url);
    await client.query(
      `with head as (update skein.heads set last_sequence = 2 where session_id = $1 returning session_id)
      insert into skein.events (session_id, sequence, id, v, event_type, data, created_at)
      select session_id, 2, gen_random_uuid(), 1, 'session.edited', '{"title":"silent"}', now() from head`,
      [script.sessionId],
    );
    await expect.poll(() => seen).toEqual([1, 2]);
    stop.abort();
    await following;
  });
});

/** Returns the SQL that removes the columns that the migration for exact costs adds. */
function withoutExactCost(...tables: readonly string[]): string {
  const added = ["cost_rest", "estimated_calls", "simulated_calls", "reserved_micros"];
  const parts = ["input_rest", "output_rest", "cache_write_rest", "cache_read_rest"];
  const columns = (table: string): readonly string[] =>
    table === "heads" ? [...added, "reserved_until"] : [...added, ...parts];
  return tables
    .flatMap((table) => columns(table).map((column) => `alter table skein.${table} drop column ${column} cascade;`))
    .join("\n");
}
