import { createPostgresStore } from "@skein/adapters/stores/postgres";
import { type SessionFilter, type Store, type UsageQuery, addedUsage, countedTools, zoneShifts } from "@skein/core";
import { createScript } from "@skein/core/testing";
import { createIds } from "@skein/protocol";
import pg from "pg";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { type Database, createDatabase } from "../../../../scripts/postgres.ts";
import { storeBefore } from "./version-before.ts";

const server = inject("postgres");
const ids = createIds();
const DAY_MS = 86_400_000;
const noon = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;

let database: Database;
let client: pg.Client;
/** The store of an earlier version (schema 7). It counts every row each time, so its results are the reference. */
let before: Store;
let clock = noon;
let closing = async (): Promise<void> => {};

beforeEach(async () => {
  database = await createDatabase(server.url, { template: "template1" });
  client = new pg.Client(database.url);
  await client.connect();
});
afterEach(async () => {
  await closing();
  await before.close();
  await client.end();
  await database.drop();
});

async function opened(): Promise<Store> {
  // A server of the earlier version does not start on a newer schema, but one that is already running continues to
  // work.
  before = await (await storeBefore())({ url: database.url, poolSize: 2 });
  return createPostgresStore({ url: database.url, poolSize: 4, now: () => clock }).then((store) => {
    closing = () => store.close();
    return store;
  });
}

const QUERIES: readonly Omit<UsageQuery, "tenant">[] = [
  { by: "day" },
  { by: "model" },
  { by: "agent" },
  { by: "project" },
  { by: "session" },
  { by: "day", secondKey: "model" },
  { by: "day", from: at(-1.5) },
  { by: "model", from: at(-1), to: at(0.25) },
  { by: "agent", from: at(-2.5), to: at(-0.5) },
  { by: "day", from: at(0.1), to: at(0.2) },
];
/** Queries that the earlier version does not have. */
const NEW_QUERIES: readonly Omit<UsageQuery, "tenant">[] = [
  { by: "key" },
  { by: "key", secondKey: "model", from: at(-1.5) },
  ...["America/New_York", "Asia/Kathmandu", "Asia/Tokyo", "Africa/Monrovia"].flatMap(
    (zone): Omit<UsageQuery, "tenant">[] => [
      { by: "day", ...inZone(zone) },
      { by: "day", secondKey: "key", from: at(-1.499), to: at(0.001), ...inZone(zone) },
    ],
  ),
  // Days of this zone do not begin at a quarter of an hour. Some zones of the past were like this.
  { by: "day", shifts: [{ until: null, minutes: 722 }] },
];
const FILTERS: readonly Omit<SessionFilter, "tenant">[] = [
  {},
  { status: "completed" },
  { status: ["running", "pending"] },
  { activity: "idle" },
  { outcome: "completed", topLevel: true },
  { createdAfter: at(-1.5) },
];

function at(days: number): string {
  return new Date(noon + days * DAY_MS).toISOString();
}

function inZone(zone: string): Pick<UsageQuery, "shifts"> {
  const shifts = zoneShifts(zone);
  return shifts ? { shifts } : {};
}

const sorted = (rows: readonly object[]): readonly string[] => rows.map((row) => JSON.stringify(row)).sort();

/** Checks that the sums equal the count of every row. */
async function expectSame(store: Store): Promise<void> {
  for (const query of QUERIES) {
    const asked = { tenant: "default", ...query };
    expect([query, sorted(await store.usage(asked))]).toEqual([query, sorted(await before.usage(asked))]);
    expect([query, sorted(await store.toolUsage(asked))]).toEqual([query, sorted(await before.toolUsage(asked))]);
  }
  for (const query of [...QUERIES, ...NEW_QUERIES]) {
    const asked = { tenant: "default", ...query };
    expect([query, sorted(await store.usage(asked))]).toEqual([query, sorted(await addedUsage(store, asked))]);
    expect([query, sorted(await store.toolUsage(asked))]).toEqual([query, sorted(await countedTools(store, asked))]);
  }
  for (const filter of FILTERS) {
    const asked = { tenant: "default", ...filter };
    expect([filter, await store.count(asked)]).toEqual([filter, await before.count(asked)]);
  }
}

async function rollUp(): Promise<number> {
  return (await client.query<{ runs: number }>("select skein.roll_up(1000) as runs")).rows[0]?.runs ?? -1;
}

test("sums equal the count of every row before and after changes are added up, and after deletions", async () => {
  const store = await opened();
  const sessions: string[] = [];
  for (const { day, ...opened } of [
    // The first session begins five minutes after midnight in Kathmandu (18:20 UTC), the second ten minutes before
    // midnight (18:05 UTC).
    { day: -2 + 380 / 1440, opened_by: "ci" },
    { day: -1 + 365 / 1440 },
    { day: -1 },
    { day: 0, opened_by: "ci" },
  ]) {
    clock = noon + day * DAY_MS;
    const script = createScript({ store, ids });
    await script.create(opened);
    await script.toolTurn("one");
    await script.toolTurn("two");
    sessions.push(script.sessionId);
  }
  const open = createScript({ store, ids });
  await open.create();
  await open.prompt("not answered yet");
  await expectSame(store);
  // The store's own timer may have added up some runs before.
  await rollUp();
  await expectSame(store);
  const rows = async (table: string): Promise<number> =>
    Number((await client.query(`select count(*) as n from skein.${table}`)).rows[0].n);
  expect([await rows("count_changes"), await rows("open_runs")]).toEqual([0, 0]);

  await createScript({ store, ids, sessionId: sessions[3] ?? "" }).toolTurn("three");
  await store.delete(sessions[1] ?? "");
  await expectSame(store);
  await rollUp();
  await expectSame(store);
  for (const sessionId of [sessions[0], sessions[2], sessions[3], open.sessionId]) await store.delete(sessionId ?? "");
  await rollUp();
  expect(await store.usage({ tenant: "default", by: "day" })).toEqual([]);
  expect(await store.count({ tenant: "default" })).toBe(0);
});

test("a run that changes after it was added up is counted once, with its new values", async () => {
  const store = await opened();
  const script = createScript({ store, ids });
  await script.create();
  await script.toolTurn("one");
  await rollUp();
  await client.query("update skein.runs set cost_micros = cost_micros + 7");
  await expectSame(store);
  await rollUp();
  await expectSame(store);
});

test("tool calls of adopted sessions are in the sums of the day on which they happened, until the sessions are deleted", async () => {
  clock = noon;
  const store = await opened();
  const asked = { tenant: "default" };
  const expectCounted = async (days: readonly string[]): Promise<void> => {
    const rows = await store.toolUsage(asked);
    expect(rows.map(({ day }) => day).sort()).toEqual(days);
    expect(sorted(rows)).toEqual(sorted(await countedTools(store, asked)));
  };
  const live = createScript({ store, ids });
  await live.create();
  await live.toolTurn("today", "a result with NUL: \0");
  const adopted = createScript({ store, ids, happenedAt: "2026-05-04T10:07:00.000Z" });
  await adopted.create();
  await adopted.toolTurn("months ago");
  const today = at(0).slice(0, 10);
  await expectCounted(["2026-05-04", today]);
  expect(await rollUp()).toBe(2);
  await expectCounted(["2026-05-04", today]);
  await store.delete(adopted.sessionId);
  await expectCounted([today]);
  await rollUp();
  await expectCounted([today]);
});

test("a migration moves the tool calls of adopted sessions in the sums to the days on which they happened", async () => {
  clock = noon;
  before = await (await storeBefore(16))({ url: database.url, poolSize: 2, now: () => clock });
  const live = createScript({ store: before, ids });
  await live.create();
  await live.toolTurn("today");
  const adopted = createScript({ store: before, ids, happenedAt: "2026-05-04T10:07:00.000Z" });
  await adopted.create();
  await adopted.toolTurn("months ago");
  const waiting = createScript({ store: before, ids, happenedAt: "2026-05-05T10:07:00.000Z" });
  await waiting.create();
  expect(await rollUp()).toBe(2);
  // This run is not in the sums yet.
  await waiting.toolTurn("months ago too");
  const usage = { tenant: "default", by: "day" } as const;
  const [usageBefore, toolsBefore] = [await before.usage(usage), await before.toolUsage(usage)];
  const today = at(0).slice(0, 10);
  expect(toolsBefore.map(({ day, calls }) => [day, calls])).toEqual([[today, 3]]);

  const store = await createPostgresStore({ url: database.url, poolSize: 4, now: () => clock });
  closing = () => store.close();
  const days = ["2026-05-04", "2026-05-05", today];
  for (let round = 0; round < 2; round++) {
    const tools = await store.toolUsage(usage);
    expect(tools.map(({ day, calls }) => `${day} ${calls}`).sort()).toEqual(days.map((day) => `${day} 1`));
    expect(sorted(tools)).toEqual(sorted(await countedTools(store, usage)));
    expect(sorted(await store.usage(usage))).toEqual(sorted(usageBefore));
    await rollUp();
  }
  const { rows } = await client.query(
    `select distinct agent_uuid as id, (timestamp at time zone 'utc')::date::text as day from agent.agent_runs order by day`,
  );
  const sessions = [adopted, waiting, live].map(({ sessionId }) => sessionId);
  expect(rows).toEqual(days.map((day, n) => ({ id: sessions[n], day })));
  const indexes = await client.query(
    `select c.relname as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relname in ('log_events_type', 'log_events_time')`,
  );
  expect(indexes.rows).toEqual([{ name: "log_events_time", valid: true }]);
});

test("rows that servers of an earlier version write are in the sums", async () => {
  const store = await opened();
  const script = createScript({ store: before, ids });
  await script.create();
  await script.toolTurn("one");
  await expectSame(store);
  await rollUp();
  await expectSame(store);
});
