import { KnownError } from "@skein/protocol";
import type pg from "pg";
import { MIGRATIONS } from "./migrations/index.ts";
import { VIEWS, VIEWS_HASH } from "./views/index.ts";

const LATEST = MIGRATIONS.at(-1)?.number ?? 0;
/** The advisory lock under which one process migrates while the others wait. */
const LOCK = 7300;

/** Brings the schema up to date: each migration once, in its own transaction. A newer schema is refused. */
export async function migrate(client: pg.ClientBase): Promise<void> {
  if ((await version(client)) === LATEST && (await viewsAreCurrent(client))) return;
  await client.query("select pg_advisory_lock($1)", [LOCK]);
  try {
    const current = await version(client);
    for (const { number, name, sql } of MIGRATIONS) {
      if (number <= current) continue;
      await inTransaction(client, async () => {
        if (number === 1) await client.query(FIRST);
        await client.query(sql);
        await client.query("insert into skein.migrations (number, name) values ($1, $2)", [number, name]);
      });
    }
    if (await viewsAreCurrent(client)) return;
    await inTransaction(client, async () => {
      await client.query(VIEWS);
      await client.query("delete from skein.views");
      await client.query("insert into skein.views (hash) values ($1)", [VIEWS_HASH]);
    });
  } finally {
    await client.query("select pg_advisory_unlock($1)", [LOCK]);
  }
}

async function inTransaction(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
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

async function version(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ there: boolean }>(
    "select to_regclass('skein.migrations') is not null as there",
  );
  if (!rows[0]?.there) return 0;
  const found = await client.query<{ number: number | null }>("select max(number) as number from skein.migrations");
  const number = found.rows[0]?.number ?? 0;
  if (number > LATEST)
    throw new KnownError(
      "store_too_new",
      `This database was written by a newer Skein (schema ${number}); this one knows schemas up to ${LATEST}. Use the newer Skein.`,
    );
  return number;
}
