import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Store, withHiddenPrompts } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { type Part, type Query, createSandbox } from "./create-sandbox.ts";
import { type Example, examples } from "../examples.ts";
import { COLUMNS_STATEMENT, type DescribedTable, describedTables } from "./described-tables.ts";
import { createDatabaseWriter } from "./database-writer.ts";
import { mayReadHistory, namesClaude, namesHistory, namesPlatform, namesTranscripts } from "../plan/named-tables.ts";
import { type TenantRows, createTenantRows } from "./tenant-rows.ts";

/** Runs SQL of clients over the rows of their tenant. */
export interface TenantSql {
  /** Returns the reason if statements cannot run on this machine, or undefined. */
  problem(): Promise<string | undefined>;
  /** Whether this server lets some keys read the sessions of coding agents. */
  readonly hasHistory: boolean;
  /**
   * Runs a statement. The part with the columns has a notice if the statement names tables that the caller may not
   * read. Those tables are empty.
   */
  ask(query: TenantQuery, signal: AbortSignal): AsyncGenerator<Part & { readonly notice?: string }>;
  /** Lists the tables that statements can read, with descriptions of the tables and their columns. */
  tables(
    asking: { readonly tenant: string; readonly timeMs: number },
    signal: AbortSignal,
  ): Promise<readonly DescribedTable[]>;
  /** Example queries to start with. */
  examples(): readonly Example[];
  /** Stops every process and removes every database. The store stays open. */
  close(): Promise<void>;
}

interface TenantQuery extends Omit<Query, "database"> {
  readonly tenant: string;
  /** Whether the statement may also read the system prompts of agents without `show_system_prompt`. */
  readonly prompts: boolean;
  /**
   * Whether the statement may read Claude Code's files, if `history` is configured. If false, their tables are empty.
   */
  readonly history: boolean;
}

export interface TenantSqlOptions {
  /** The store with the sessions of all tenants. Without a store, the tables of these sessions are empty. */
  readonly store?: Store | undefined;
  /** Claude Code's data directories and Skein's cache folder, if statements may read Claude Code's files. */
  readonly history?: { readonly roots: readonly string[]; readonly cacheFolder: string } | undefined;
  /** The folder for databases. Files that killed processes left in it are removed. */
  readonly folder: string;
  readonly now?: () => number;
  /**
   * The most time that a query waits for the copy of its tenant's rows. A query over transcripts may also run this long
   * while the transcripts have no cached copy.
   */
  readonly copyMs?: number;
  /** The folders in which to look for bubblewrap; the default folders if not given. */
  readonly commandFolders?: readonly string[];
}

/** The most databases of tenants that are kept. */
const TENANTS = 100;
const COPY_MS = 20_000;
/** The shortest time between two updates of the cached copy of Claude Code's files. Newer files are read in place. */
const HISTORY_MS = 30_000;

export function createTenantSql(options: TenantSqlOptions): TenantSql {
  const { store, folder, now = Date.now, copyMs = COPY_MS, commandFolders } = options;
  const own = join(folder, String(process.pid));
  const commands = commandFolders ? { commandFolders } : {};
  const rowsSandbox = createSandbox({ folder: join(own, "sandbox"), ...commands });
  const historySandbox = options.history && createHistorySandbox(options.history);
  const writer = createDatabaseWriter();
  // The copy is built in a separate process, so that the rows of a tenant do not wait for it.
  const copier = createDatabaseWriter();
  const tenants = new Map<string, TenantRows>();
  let hasFolder = false;
  let described: readonly DescribedTable[] | undefined;

  function createHistorySandbox({ roots, cacheFolder }: NonNullable<TenantSqlOptions["history"]>) {
    mkdirSync(cacheFolder, { recursive: true, mode: 0o700 });
    const history = { roots: roots.map(realPath), cacheFolder: realPath(cacheFolder) };
    const copy = createCopyRefresher(() => copier.write({ kind: "copy", history }), now);
    return { sandbox: createSandbox({ folder: join(own, "history"), history, ...commands }), copy };
  }

  /** Readers who do not see system prompts have a separate database. */
  function rowsOf(all: Store, { tenant, prompts }: { tenant: string; prompts: boolean }): TenantRows {
    const name = `${prompts ? "of" : "readers-of"}-${tenant}`;
    const store = prompts ? all : withHiddenPrompts(all);
    const rows = tenants.get(name) ?? createTenantRows({ store, tenant, folder: own, writer, now });
    // Moves the tenant to the end, so the first tenant is always the tenant that has been idle longest.
    tenants.delete(name);
    tenants.set(name, rows);
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
    hasHistory: options.history !== undefined,
    async *ask({ tenant, history, prompts, ...query }, signal) {
      // A statement waits only for the data that it reads: transcripts are searched and rows are copied only if they
      // are needed.
      const mayRead = mayReadHistory(query.statement);
      const sandbox = sandboxFor(history && mayRead);
      const problem = await sandbox.problem();
      if (problem !== undefined) throw new KnownError("sandbox_missing", problem);
      const needsRows = namesPlatform(query.statement) || mayRead;
      const database = store && needsRows ? await inTime(rowsOf(store, { tenant, prompts }).current(), copyMs) : null;
      const copy = sandbox !== rowsSandbox && namesTranscripts(query.statement) ? historySandbox?.copy : undefined;
      // Without a copy, every transcript is read in place, which may take longer.
      const timeMs = copy?.isMissing() === true ? Math.max(query.timeMs, copyMs) : query.timeMs;
      try {
        const notice =
          sandbox === rowsSandbox ? closedNotice(query.statement, historySandbox !== undefined) : undefined;
        for await (const part of sandbox.ask({ ...query, timeMs, database }, signal))
          yield part.kind === "columns" && notice !== undefined ? { ...part, notice } : part;
      } finally {
        // The build starts after the answer, so that it does not slow the answer down.
        copy?.refresh();
      }
    },
    async tables(asking, signal) {
      const limits = { rows: 10_000, bytes: 10_000_000, history: false, prompts: false };
      const query = { ...asking, ...limits, statement: COLUMNS_STATEMENT, format: "jsonl" } as const;
      // The descriptions are kept, because every tenant has the same tables.
      described ??= await describedTables(this.ask(query, signal));
      return described;
    },
    examples,
    async close() {
      await Promise.all([rowsSandbox.close(), historySandbox?.sandbox.close(), writer.close(), copier.close()]);
      await Promise.all([...tenants.values()].map((rows) => rows.remove()));
      rmSync(own, { recursive: true, force: true });
    },
  };
}

/** Returns the real path of a folder. Returns the given path if the folder does not exist. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

interface CopyRefresher {
  /** Starts an update of the cached copy and returns immediately. Does nothing if an update runs or has just ended. */
  refresh(): void;
  /** Whether no update has ended in this process. */
  isMissing(): boolean;
}

function createCopyRefresher(copy: () => Promise<void>, now: () => number): CopyRefresher {
  let isRunning = false;
  let copiedAt: number | undefined;
  return {
    isMissing: () => copiedAt === undefined,
    refresh() {
      if (isRunning || (copiedAt !== undefined && now() - copiedAt <= HISTORY_MS)) return;
      isRunning = true;
      // A failed update is ignored, because answers without a copy are only slower.
      void copy()
        .catch(() => {})
        .finally(() => {
          copiedAt = now();
          isRunning = false;
        });
    },
  };
}

/**
 * Waits for a tenant's database for a limited time. If copying the rows takes longer, the query fails and the copying
 * continues.
 */
async function inTime(database: Promise<string>, ms: number): Promise<string> {
  database.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new KnownError(
            "over_limit",
            `Copying this tenant's rows takes longer than ${ms / 1000} s and continues. Run the statement again later.`,
          ),
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

/**
 * Makes a folder for this process, because two servers may share a data folder. Removes the folders of killed
 * processes.
 */
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

/**
 * Returns the reason why named tables have no rows for this caller. Returns undefined if the caller may read all named
 * tables.
 */
function closedNotice(statement: string, isOpened: boolean): string | undefined {
  if (!namesClaude(statement) && !namesHistory(statement)) return undefined;
  return isOpened
    ? "The tables of Claude Code and other coding agents are empty for this key: only admin keys of the tenant default may read them."
    : "The tables of Claude Code and other coding agents are off on this server, so they are empty. The setting SKEIN_SQL_HISTORY turns them on.";
}
