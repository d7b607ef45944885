import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Store } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { type Part, type Question, createSandbox } from "./create-sandbox.ts";
import { createKeeper } from "./database-writer.ts";
import { type TenantRows, createTenantRows } from "./tenant-rows.ts";

/** SQL from outside, over the rows of whoever asks and nothing else. */
export interface TenantSql {
  /** Why no statement can be run here; undefined if they can. */
  problem(): Promise<string | undefined>;
  ask(question: TenantQuestion, signal: AbortSignal): AsyncGenerator<Part>;
  /** Ends every process and removes every copy. The store stays open. */
  close(): Promise<void>;
}

interface TenantQuestion extends Omit<Question, "database"> {
  readonly tenant: string;
  /** Whether Claude Code's files may be asked too, where they were opened. Without it their tables are empty. */
  readonly history: boolean;
}

export interface TenantSqlOptions {
  /** Where the tenants' sessions are; without one their tables are empty. */
  readonly store?: Store | undefined;
  /** Claude Code's data directories, if they are opened, and Skein's own folder for what is known of them. */
  readonly history?: { readonly roots: readonly string[]; readonly cacheFolder: string } | undefined;
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
/** How often the cached copy of Claude Code's files is brought up to date. What is newer is read in place. */
const HISTORY_MS = 30_000;

export function createTenantSql(options: TenantSqlOptions): TenantSql {
  const { store, folder, now = Date.now, copyMs = COPY_MS, commandFolders } = options;
  const own = join(folder, String(process.pid));
  const commands = commandFolders ? { commandFolders } : {};
  const rowsSandbox = createSandbox({ folder: join(own, "sandbox"), ...commands });
  const historySandbox = options.history && createHistorySandbox(options.history);
  const keeper = createKeeper();
  const tenants = new Map<string, TenantRows>();
  let hasFolder = false;

  function createHistorySandbox({ roots, cacheFolder }: NonNullable<TenantSqlOptions["history"]>) {
    mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
    const history = { roots: roots.map(realPath), cacheFolder: realPath(cacheFolder) };
    const copied = createCopied(() => keeper.write({ kind: "copy", history }), { copyMs, now });
    return { sandbox: createSandbox({ folder: join(own, "history"), history, ...commands }), copied };
  }

  function rowsOf(from: Store, tenant: string): TenantRows {
    const shared = { folder: own, keeper };
    const rows =
      tenants.get(tenant) ?? createTenantRows({ store: from, tenant, folder: join(own, `of-${tenant}`), shared, now });
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

  function sandboxFor(history: boolean) {
    if (!hasFolder) takeFolder(folder, own);
    hasFolder = true;
    return (history ? historySandbox?.sandbox : undefined) ?? rowsSandbox;
  }

  return {
    problem: () => sandboxFor(false).problem(),
    async *ask({ tenant, history, ...question }, signal) {
      const sandbox = sandboxFor(history);
      const problem = await sandbox.problem();
      if (problem !== undefined) throw new KnownError("sandbox_missing", problem);
      if (sandbox !== rowsSandbox) await historySandbox?.copied();
      const database = store ? await inTime(rowsOf(store, tenant).current(), copyMs) : null;
      yield* sandbox.ask({ ...question, database }, signal);
    },
    async close() {
      await Promise.all([rowsSandbox.close(), historySandbox?.sandbox.close(), keeper.close()]);
      await Promise.all([...tenants.values()].map((rows) => rows.remove()));
      rmSync(own, { recursive: true, force: true });
    },
  };
}

/** Where a folder really is. One that is not there is looked for again with each question. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** Brings the cached copy up to date: the first question waits for it, for a while, the others do not. */
function createCopied(
  copy: () => Promise<void>,
  { copyMs, now }: { readonly copyMs: number; readonly now: () => number },
): () => Promise<void> {
  let running: Promise<void> | undefined;
  let copiedAt: number | undefined;
  return async () => {
    if (!running && (copiedAt === undefined || now() - copiedAt > HISTORY_MS))
      // Without a copy the answers are the same, and slower.
      running = copy()
        .catch(() => {})
        .finally(() => {
          copiedAt = now();
          running = undefined;
        });
    if (copiedAt === undefined) await Promise.race([running, delay(copyMs, undefined, { ref: false })]);
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
