import { fdatasyncSync, mkdirSync, openSync, closeSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { type Place, type StoreName, openStore } from "../../scripts/kill/open-store.ts";
import type { Places } from "./places.ts";
import { type Result, median } from "./results.ts";
import { ids, lease, newSession, prompt, toolStarted } from "./workload.ts";

/** A store or a bare database that is measured. Each call of `write` is one durable write. */
interface Contestant {
  write(writer: number): Promise<unknown>;
  close(): Promise<void>;
}

type Kind = "prompt" | "driver's fact";

export interface AppendOptions {
  readonly places: Places;
  readonly roundMs: number;
  /** Added to the name of each result, for example if the disk was slowed down. */
  readonly disk?: string;
  readonly progress: (text: string) => void;
}

const ROUNDS = 3;
const GOAL = 2;

/**
 * Measures durable appends of one 500-byte event, compared with an INSERT of the bare database with the same
 * durability.
 */
export async function benchAppend(store: StoreName | "memory", options: AppendOptions): Promise<Result[]> {
  const results: Result[] = [];
  for (const kind of ["prompt", "driver's fact"] as const)
    for (const writers of [1, 32]) results.push(await compare(store, kind, writers, options));
  return results;
}

async function compare(
  store: StoreName | "memory",
  kind: Kind,
  writers: number,
  { places, roundMs, disk = "", progress }: AppendOptions,
): Promise<Result> {
  const what = `append a ${kind}, ${writers} ${writers === 1 ? "writer" : "writers"}${disk}`;
  progress(`${store}: ${what}`);
  const floor = await bare(store, await places.fresh(store), writers);
  const ours = await appender(store, { ...(await places.fresh(store)), poolSize: writers }, { kind, writers });
  const rates: { floor: number; ours: number }[] = [];
  try {
    // The floor and the store take turns in each round, so that other load affects both.
    for (let round = -1; round < ROUNDS; round++) {
      const length = round < 0 ? roundMs / 4 : roundMs;
      const floorRate = floor ? await rate(floor, writers, length) : 0;
      const ourRate = await rate(ours, writers, length);
      if (round >= 0) rates.push({ floor: floorRate, ours: ourRate });
    }
  } finally {
    await floor?.close();
    await ours.close();
  }
  const value = median(rates.map((round) => round.ours));
  if (!floor) return { what, store, value, unit: "/s" };
  const ratio = median(rates.map((round) => round.floor / round.ours));
  const counts = store === "sqlite" || store === "postgres";
  return {
    what,
    store,
    value,
    unit: "/s",
    floor: median(rates.map((round) => round.floor)),
    ratio,
    ...(counts && { goal: `ratio ≤ ${GOAL}`, passed: ratio <= GOAL }),
  };
}

async function rate(contestant: Contestant, writers: number, roundMs: number): Promise<number> {
  const started = performance.now();
  let done = 0;
  const loop = async (writer: number): Promise<void> => {
    while (performance.now() - started < roundMs) {
      await contestant.write(writer);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => loop(writer)));
  return done / ((performance.now() - started) / 1000);
}

/** Opens Skein's store, with one session per writer. */
async function appender(
  name: StoreName | "memory",
  place: Place,
  { kind, writers }: { readonly kind: Kind; readonly writers: number },
): Promise<Contestant> {
  const store = await openStore(name, place);
  const seats = await Promise.all(
    Array.from({ length: writers }, async () => {
      const sessionId = await newSession(store);
      return { sessionId, lease: await lease(store, sessionId), runId: ids() };
    }),
  );
  return {
    async write(writer) {
      const seat = seats[writer];
      if (!seat) throw new Error(`There is no writer ${writer}.`);
      if (kind === "prompt") return store.append(seat.sessionId, [prompt()], { dueAt: 0 });
      return store.append(seat.sessionId, [toolStarted(seat.runId)], { lease: seat.lease });
    },
    close: () => store.close(),
  };
}

const BODY = "x".repeat(500);
const TABLE =
  "create table bare (session_id text, sequence integer, body text not null, primary key (session_id, sequence))";

/** The lower bound: one row with the same 500 bytes, durable before the answer. */
async function bare(store: StoreName | "memory", place: Place, writers: number): Promise<Contestant | undefined> {
  switch (store) {
    case "memory":
      return undefined;
    case "sqlite":
      return bareSqlite(place);
    case "postgres":
      return barePostgres(place, writers);
    case "filesystem":
      return bareFile(place);
  }
}

function bareSqlite({ folder }: Place): Contestant {
  mkdirSync(folder, { recursive: true });
  const db = new DatabaseSync(join(folder, "bare.db"));
  db.exec(`pragma journal_mode = wal; pragma synchronous = full; ${TABLE}`);
  const insert = db.prepare("insert into bare values (?, ?, ?)");
  let sequence = 0;
  return {
    write: async (writer) => insert.run(`session ${writer}`, (sequence += 1), BODY),
    close: async () => db.close(),
  };
}

async function barePostgres({ url }: Place, writers: number): Promise<Contestant> {
  const pool = new pg.Pool({ connectionString: url, max: writers });
  await pool.query(TABLE);
  let sequence = 0;
  return {
    write: (writer) =>
      pool.query({
        name: "insert",
        text: "insert into bare values ($1, $2, $3)",
        values: [`session ${writer}`, (sequence += 1), BODY],
      }),
    close: () => pool.end(),
  };
}

function bareFile({ folder }: Place): Contestant {
  mkdirSync(folder, { recursive: true });
  const file = openSync(join(folder, "bare.jsonl"), "a");
  return {
    async write() {
      writeSync(file, `${BODY}\n`);
      fdatasyncSync(file);
    },
    close: async () => closeSync(file),
  };
}
