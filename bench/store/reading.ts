import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { SessionQuery, Store } from "@skein/core";
import type { NewEvent } from "@skein/protocol";
import { NO_USAGE } from "@skein/protocol";
import pg from "pg";
import { type Place, type StoreName, openStore } from "../../scripts/kill/open-store.ts";
import type { Places } from "./places.ts";
import { type Result, median } from "./results.ts";
import { TENANT, created, ids, inParallel, newSession, prompt } from "./workload.ts";

const WIDTH = 128;
const SAMPLES = 21;
const AGENTS = Array.from({ length: 10 }, () => ids());

export interface ReadingOptions {
  readonly places: Places;
  /** How many sessions there are when lists are measured. Opening is measured with a tenth of them. */
  readonly sessions: number;
  readonly progress: (text: string) => void;
}

/** Measures how long it takes to open a store, to read a long log and to list many sessions. */
export async function benchReading(name: StoreName | "memory", options: ReadingOptions): Promise<Result[]> {
  const { places, sessions, progress } = options;
  const place = await places.fresh(name);
  const few = sessions / 10;
  let store = await openStore(name, place);
  try {
    progress(`${name}: making ${few.toLocaleString("en")} sessions`);
    const parent = await newSession(store);
    await makeSessions(store, parent, few);
    const results: Result[] = [];
    if (name !== "memory") {
      await store.close();
      const times = await timed(async () => {
        store = await openStore(name, place);
        await store.get(parent);
        await store.close();
      }, 5);
      store = await openStore(name, place);
      results.push(
        limited(name, `open and close with ${few.toLocaleString("en")} sessions`, times, {
          most: name === "sqlite" ? 50 : undefined,
        }),
      );
    }
    const started = new Date();
    progress(`${name}: making ${(sessions - few).toLocaleString("en")} more`);
    await makeSessions(store, parent, sessions - few);
    const floor = await bareRead(name, await places.fresh(name));
    results.push(await readLong(store, name, floor), ...(await lists(store, name, { parent, started, sessions })));
    return results;
  } finally {
    await store.close();
  }
}

async function readLong(store: Store, name: StoreName | "memory", floor: Times | undefined): Promise<Result> {
  const sessionId = ids();
  const events = [created(), ...Array.from({ length: COUNT - 1 }, () => prompt())];
  await store.append(sessionId, events.slice(0, 1000), { expect: 0 });
  for (let at = 1000; at < events.length; at += 1000) await store.append(sessionId, events.slice(at, at + 1000));
  const times = await timed(async () => {
    if ((await store.read(sessionId)).length !== events.length) throw new Error("The log is not complete.");
  });
  return limited(name, "read a session of 10,000 events", times, { most: 100, ...(floor && { floor }) });
}

async function lists(
  store: Store,
  name: string,
  { parent, started, sessions }: { readonly parent: string; readonly started: Date; readonly sessions: number },
): Promise<Result[]> {
  const half = new Date((started.getTime() + Date.now()) / 2).toISOString();
  const queries: readonly (readonly [string, Omit<SessionQuery, "tenant">])[] = [
    ["status pending", { status: "pending" }],
    ["status completed", { status: "completed" }],
    ["status failed (none)", { status: "failed" }],
    ["tag (1 in 10)", { tags: ["often"] }],
    ["tag (1 in 1,000)", { tags: ["rare"] }],
    ["agent (1 in 10)", { agentId: AGENTS[3] ?? "" }],
    ["date (the older half)", { createdBefore: half }],
    ["parent (1 in 100)", { parentSessionId: parent }],
    ["status and agent and tag", { status: "completed", agentId: AGENTS[3] ?? "", tags: ["often"] }],
    ["the 20th page", { cursor: (await deepCursor(store)) ?? "" }],
  ];
  const results: Result[] = [];
  for (const [by, query] of queries) {
    const times = await timed(() => store.list({ tenant: TENANT, ...query, limit: 50 }));
    results.push(limited(name, `list 50 of ${sessions.toLocaleString("en")} by ${by}`, times, { most: 20 }));
  }
  return results;
}

async function deepCursor(store: Store): Promise<string | null> {
  let cursor: string | null = null;
  for (let page = 0; page < 20; page++)
    cursor = (await store.list({ tenant: TENANT, limit: 50, ...(cursor !== null && { cursor }) })).cursor;
  return cursor;
}

/** Three of four sessions have a finished run. Some are forks or have tags. The sessions belong to ten agents. */
async function makeSessions(store: Store, parent: string, count: number): Promise<void> {
  await inParallel(count, WIDTH, async (index) => {
    const sessionId = ids();
    const event = created({
      agent_id: AGENTS[index % 10] ?? "",
      title: `Session ${index}`,
      tags: [...(index % 10 === 3 ? ["often"] : []), ...(index % 1000 === 0 ? ["rare"] : [])],
      parent: index % 100 === 0 ? { session_id: parent, sequence: 1 } : null,
    });
    await store.append(sessionId, [event], { expect: 0 });
    if (index % 2 === 0 && index % 4 !== 0) return;
    const claimed = await store.claim({ owner: "bench", leaseMs: 60_000, sessionId });
    if (claimed.kind !== "leased") throw new Error("A new session could not be claimed.");
    await store.append(sessionId, finishedRun(), { lease: claimed.lease, expect: 1, release: { dueAt: null } });
  });
}

function finishedRun(): NewEvent[] {
  const [runId, messageId] = [ids(), ids()];
  return [
    {
      id: ids(),
      event_type: "session.started",
      data: { run_id: runId, message_id: messageId, user_message: "hello", formatter: "json" },
    },
    {
      id: ids(),
      event_type: "session.completed",
      data: {
        run_id: runId,
        step: 1,
        stop_reason: "end_turn",
        final_response: "hello",
        usage: NO_USAGE,
        cost_micros: 0,
        unpriced_calls: 0,
        files_generated: 0,
        duration_ms: 1,
      },
    },
  ];
}

interface Times {
  readonly wall: readonly number[];
  /** The processor time of this process: more meaningful on a shared machine. */
  readonly cpu: number;
}

async function timed(work: () => Promise<unknown>, samples = SAMPLES): Promise<Times> {
  const wall: number[] = [];
  const before = process.cpuUsage();
  for (let i = 0; i < samples; i++) {
    const started = performance.now();
    await work();
    wall.push(performance.now() - started);
  }
  const { user, system } = process.cpuUsage(before);
  return { wall, cpu: (user + system) / 1000 / samples };
}

interface Limit {
  readonly most?: number | undefined;
  readonly floor?: Times;
}

function limited(store: string, what: string, { wall, cpu }: Times, { most, floor }: Limit = {}): Result {
  const value = median(wall);
  const bare = floor && median(floor.wall);
  const note = `first ${(wall[0] ?? 0).toFixed(1)}, worst ${Math.max(...wall).toFixed(1)}, own CPU ${cpu.toFixed(1)}`;
  return {
    what,
    store,
    value,
    unit: "ms",
    note,
    ...(bare !== undefined && { floor: bare, ratio: value / bare }),
    ...(most !== undefined && { goal: `< ${most} ms`, passed: value < most }),
  };
}

const COUNT = 10_000;
const TABLE = "create table bare (session_id text, sequence integer, body text, primary key (session_id, sequence))";
const SELECT = "select sequence, body from bare where session_id = 'a' order by sequence";

/** The lower bound: the bare database reads as many rows, and `JSON.parse` parses as many bodies. */
async function bareRead(name: StoreName | "memory", place: Place): Promise<Times | undefined> {
  const parse = (rows: readonly { body?: unknown }[]): unknown =>
    rows.map(({ body }) => JSON.parse(String(body)) as unknown);
  const body = JSON.stringify(prompt().data);
  if (name === "sqlite") {
    mkdirSync(place.folder, { recursive: true });
    const db = new DatabaseSync(join(place.folder, "bare.db"));
    db.exec(TABLE);
    db.prepare(
      `with recursive n (n) as (select 1 union all select n + 1 from n where n < ${COUNT}) insert into bare select 'a', n, ? from n`,
    ).run(body);
    const select = db.prepare(SELECT);
    const times = await timed(async () => parse(select.all()));
    db.close();
    return times;
  }
  if (name !== "postgres") return undefined;
  const client = new pg.Client(place.url);
  await client.connect();
  await client.query(TABLE);
  await client.query(`insert into bare select 'a', n, $1 from generate_series(1, ${COUNT}) n`, [body]);
  const times = await timed(async () => parse((await client.query<{ body: string }>(SELECT)).rows));
  await client.end();
  return times;
}
