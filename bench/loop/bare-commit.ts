import { closeSync, fdatasyncSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import type { Place } from "../../scripts/kill/open-store.ts";
import { median } from "../store/results.ts";

const ROUNDS = 200;
const BODY = "x".repeat(500);

/** Measures a durable commit of 500 bytes without Skein, in milliseconds. */
export async function bareCommit(store: "sqlite" | "postgres" | "filesystem", place: Place): Promise<number> {
  mkdirSync(place.folder, { recursive: true });
  if (store === "postgres") return postgresCommit(place.url ?? "");
  return store === "sqlite" ? sqliteCommit(join(place.folder, "bare.db")) : fileCommit(join(place.folder, "bare.log"));
}

async function postgresCommit(url: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query("create table bare (body text)");
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const started = performance.now();
    await client.query("insert into bare values ($1)", [BODY]);
    times.push(performance.now() - started);
  }
  await client.end();
  return median(times);
}

function sqliteCommit(file: string): number {
  const db = new DatabaseSync(file);
  db.exec("pragma journal_mode = wal; pragma synchronous = full; create table bare (body text)");
  const insert = db.prepare("insert into bare values (?)");
  const times = Array.from({ length: ROUNDS }, () => {
    const started = performance.now();
    insert.run(BODY);
    return performance.now() - started;
  });
  db.close();
  return median(times);
}

function fileCommit(file: string): number {
  const handle = openSync(file, "a");
  const times = Array.from({ length: ROUNDS }, () => {
    const started = performance.now();
    writeSync(handle, BODY);
    fdatasyncSync(handle);
    return performance.now() - started;
  });
  closeSync(handle);
  return median(times);
}
