import { setTimeout as delay } from "node:timers/promises";
import { KnownError } from "@skein/protocol";
import type pg from "pg";
import { sqlStateOf, wasUndone } from "./errors.ts";
import { MIGRATIONS, type Migration } from "./migrations/index.ts";
import { VIEWS, VIEWS_HASH } from "./views/index.ts";

const LATEST = MIGRATIONS.at(-1)?.number ?? 0;
/** The number of the advisory lock for migrations. Only the process with the lock migrates. */
const LOCK = 7300;
/**
 * How long a migration waits for a lock. Later statements would wait for the migration, so it gives up after this time
 * and tries again.
 */
const LOCK_TIMEOUT = "2s";
const ATTEMPTS = 60;
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Runs the missing migrations. Each has a separate transaction, except the concurrent migrations, which have none. The
 * last migration before the concurrent ones also creates functions and views again in its transaction, because servers
 * of the previous version may call them at any moment.
 *
 * A database with a newer schema stays unchanged. It is rejected if its schema does not allow code of this version.
 * Reasons: docs/decisions/166-two-versions-on-one-database.md.
 */
export async function migrate(client: pg.ClientBase): Promise<void> {
  const found = await missingMigrations(client);
  if (found === "newer" || (found.length === 0 && (await viewsAreCurrent(client)))) return;
  await lock(client);
  try {
    const missing = await missingMigrations(client);
    if (missing === "newer") return;
    const first = missing.filter(({ concurrent, late }) => !concurrent && !late);
    const last = first.at(-1);
    for (const migration of first)
      if (migration !== last) await inTransaction(client, migration.locks, () => apply(client, migration));
    if (last || !(await viewsAreCurrent(client)))
      await inTransaction(client, last?.locks, async () => {
        if (last) await apply(client, last);
        await client.query(VIEWS);
        await client.query("delete from skein.views");
        await client.query("insert into skein.views (hash) values ($1)", [VIEWS_HASH]);
      });
    for (const migration of missing) if (migration.concurrent) await apply(client, migration);
    for (const migration of missing)
      if (migration.late) await inTransaction(client, migration.locks, () => apply(client, migration));
  } finally {
    await client.query("select pg_advisory_unlock($1)", [LOCK]);
  }
}

/**
 * What the next start of a server finds in the database: no store, an older schema, or one that it can use unchanged.
 */
export async function schemaState(client: pg.ClientBase): Promise<"missing" | "older" | "usable"> {
  const missing = await missingMigrations(client);
  if (missing === "newer") return "usable";
  if (missing.length === MIGRATIONS.length) return "missing";
  return missing.length > 0 || !(await viewsAreCurrent(client)) ? "older" : "usable";
}

/** Polls for the lock, because PostgreSQL cannot finish a concurrent index while a statement waits for this lock. */
async function lock(client: pg.ClientBase): Promise<void> {
  const tried = "select pg_try_advisory_lock($1) as got";
  while (!(await client.query<{ got: boolean }>(tried, [LOCK])).rows[0]?.got) await delay(100);
}

async function apply(client: pg.ClientBase, { number, name, sql, oldest, concurrent }: Migration): Promise<void> {
  if (number === 1) await client.query(FIRST);
  // Several statements in one query would be a transaction, but a transaction cannot create an index concurrently.
  for (const statement of concurrent ? sql.split(";") : [sql])
    if (statement.trim() !== "") await client.query(statement);
  await client.query("insert into skein.migrations (number, name) values ($1, $2)", [number, name]);
  if (oldest !== undefined)
    await client.query("update skein.migrations set oldest = $2 where number = $1", [number, oldest]);
}

async function inTransaction(
  client: pg.ClientBase,
  locks: readonly string[] | undefined,
  work: () => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await client.query("begin");
    try {
      if (locks) await lockTables(client, locks);
      await client.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
      await work();
      await client.query("commit");
      return;
    } catch (error) {
      await client.query("rollback");
      if (attempt >= ATTEMPTS || !(wasUndone(error) || sqlStateOf(error) === LOCK_NOT_AVAILABLE)) throw error;
      await delay(200);
    }
  }
}

/**
 * Takes all these locks or none. The wait for them is shorter than PostgreSQL's deadlock timeout, so PostgreSQL never
 * ends a server's statement because of a migration.
 */
async function lockTables(client: pg.ClientBase, locks: readonly string[]): Promise<void> {
  const setting = "select setting::integer as ms from pg_settings where name = 'deadlock_timeout'";
  const found = await client.query<{ ms: number }>(setting);
  const each = Math.max(1, Math.floor((0.8 * (found.rows[0]?.ms ?? 1000)) / locks.length));
  await client.query(`set local lock_timeout = ${each}; ${locks.map((name) => `lock table ${name};`).join(" ")}`);
}

async function viewsAreCurrent(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ hash: string }>("select hash from skein.views");
  return rows[0]?.hash === VIEWS_HASH;
}

const FIRST = `
create schema if not exists skein;
create table skein.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default now()
)`;

/**
 * Returns the migrations that were not applied yet. A migration that only creates indexes may be missing although newer
 * migrations are applied. Returns "newer" if newer code has migrated the database and this code works with it.
 */
async function missingMigrations(client: pg.ClientBase): Promise<readonly Migration[] | "newer"> {
  const { rows } = await client.query<{ there: boolean }>(
    "select to_regclass('skein.migrations') is not null as there",
  );
  if (!rows[0]?.there) return MIGRATIONS;
  const found = await client.query<{ number: number }>("select number from skein.migrations");
  const applied = new Set(found.rows.map(({ number }) => number));
  const newest = Math.max(...applied);
  if (newest <= LATEST) return MIGRATIONS.filter(({ number }) => !applied.has(number));
  if (await worksWith(client)) return "newer";
  throw new KnownError(
    "store_too_new",
    `This database was written by a newer Skein (schema ${newest}); this Skein knows only schemas up to ${LATEST}. Use the newer Skein.`,
  );
}

/** Whether every unknown migration of the database allows this code. */
async function worksWith(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ works: boolean }>(
    "select bool_and(coalesce(oldest <= $1, false)) as works from skein.migrations where number > $1",
    [LATEST],
  );
  return rows[0]?.works ?? false;
}
