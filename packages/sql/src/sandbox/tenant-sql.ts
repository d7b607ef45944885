import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { type Part, type Question, createSandbox } from "./create-sandbox.ts";
import { createKeeper } from "./keeper-process.ts";
import { type TenantRows, createTenantRows } from "./tenant-rows.ts";

/** SQL from outside, over the rows of whoever asks and nothing else. */
export interface TenantSql {
  /** Why no statement can be run here; undefined if they can. */
  problem(): Promise<string | undefined>;
  ask(question: Omit<Question, "database"> & { readonly tenant: string }, signal: AbortSignal): AsyncGenerator<Part>;
  /** Ends every process and removes every copy. The store stays open. */
  close(): Promise<void>;
}

export interface TenantSqlOptions {
  readonly store: Store;
  /** Where copies are kept while this process lives; what dead processes left there is removed. */
  readonly folder: string;
  readonly now?: () => number;
  /** How long a question waits for its rows before it is told to come again. */
  readonly copyMs?: number;
  /** Where bubblewrap is looked for: where systems have it, unless told. */
  readonly commandFolders?: readonly string[];
}

/** Tenants whose copies are kept. */
const TENANTS = 100;
const COPY_MS = 20_000;

export function createTenantSql(options: TenantSqlOptions): TenantSql {
  const { store, folder, now = Date.now, copyMs = COPY_MS, commandFolders } = options;
  const own = join(folder, String(process.pid));
  const sandbox = createSandbox({ folder: join(own, "sandbox"), ...(commandFolders && { commandFolders }) });
  const keeper = createKeeper();
  const tenants = new Map<string, TenantRows>();
  let hasFolder = false;

  function problem(): Promise<string | undefined> {
    if (!hasFolder) takeFolder(folder, own);
    hasFolder = true;
    return sandbox.problem();
  }

  function rowsOf(tenant: string): TenantRows {
    const shared = { folder: own, keeper };
    const rows =
      tenants.get(tenant) ?? createTenantRows({ store, tenant, folder: join(own, `of-${tenant}`), shared, now });
    // Last in the order: whoever has not asked for the longest time is the first.
    tenants.delete(tenant);
    tenants.set(tenant, rows);
    const [oldest] = tenants;
    if (tenants.size > TENANTS && oldest) {
      tenants.delete(oldest[0]);
      void oldest[1].remove();
    }
    return rows;
  }

  return {
    problem,
    async *ask({ tenant, ...question }, signal) {
      const why = await problem();
      if (why !== undefined) throw new KnownError("sandbox_missing", why);
      const database = await inTime(rowsOf(tenant).current(), copyMs);
      yield* sandbox.ask({ ...question, database }, signal);
    },
    async close() {
      await Promise.all([sandbox.close(), keeper.close()]);
      await Promise.all([...tenants.values()].map((rows) => rows.remove()));
      rmSync(own, { recursive: true, force: true });
    },
  };
}

/** The first copy of a large tenant takes its time, and goes on when nobody waits any more. */
async function inTime(database: Promise<string>, ms: number): Promise<string> {
  database.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new KnownError("over_limit", "The rows are still being copied for the first time. Ask again in a while."),
        ),
      ms,
    );
  });
  try {
    return await Promise.race([database, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A folder per process, so that two servers may share a data folder. One that died could not remove its own. */
function takeFolder(folder: string, own: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder)) {
    if (!/^\d+$/.test(name) || (name !== String(process.pid) && isAlive(Number(name)))) continue;
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  mkdirSync(own, { mode: 0o700 });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
