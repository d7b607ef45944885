import { closeSync, constants, fsyncSync, openSync, readFileSync, readdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { KnownError } from "@skein/protocol";
import { makeFolder, removeEntry, replaceFile } from "./durable-files.ts";

/** Identifies processes. A PID alone is not enough, because PIDs are reused. */
export interface Processes {
  readonly pid: number;
  /** Identifies the current start of the machine; empty if the system does not report it. */
  readonly boot: string;
  /** Returns the start time of a process in a unit of the system, or undefined if no process has this PID. */
  started(pid: number): string | undefined;
}

interface Holder {
  readonly pid: number;
  readonly boot: string;
  readonly started: string;
  readonly released: boolean;
}

export interface ProcessLock {
  /** Whether the machine stopped while the last holder had the lock. Data that was not synced may be missing. */
  readonly afterPowerCut: boolean;
  release(): Promise<void>;
}

/**
 * Allows one process at a time to use the folder.
 *
 * `lock/` contains a numbered file for each holder. The holder with the greatest number has the lock, and a number is
 * used only once, because creating an existing file fails. So two processes that find the same dead holder cannot both
 * take the lock. With a single lock file that is removed and created again, both processes could take the lock.
 */
export async function lockFolder(folder: string, processes: Processes = thisSystem()): Promise<ProcessLock> {
  const lock = join(folder, "lock");
  makeFolder(lock);
  for (;;) {
    const top = greatest(lock);
    const holder = top === 0 ? undefined : await holderOf(join(lock, String(top)));
    if (holder === "gone") continue;
    if (holder && isAlive(holder, processes)) throw locked(holder.pid, processes.pid);
    const mine = top + 1;
    const path = join(lock, String(mine));
    const me: Holder = {
      pid: processes.pid,
      boot: processes.boot,
      started: processes.started(processes.pid) ?? "",
      released: false,
    };
    if (!created(path, JSON.stringify(me))) continue;
    if (greatest(lock) > mine) {
      removeEntry(path);
      continue;
    }
    for (const older of numbers(lock)) if (older < mine) removeEntry(join(lock, String(older)));
    return {
      afterPowerCut: top > 0 && !holder?.released && holder?.boot !== processes.boot,
      // The file stays, so that its number is not used again.
      release: () => replaceFile(path, JSON.stringify({ ...me, released: true }), false),
    };
  }
}

/** Reads process information on Linux. On other systems, every process with the same PID counts as the same process. */
function thisSystem(): Processes {
  const linux = process.platform === "linux";
  return {
    pid: process.pid,
    boot: linux ? readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim() : "",
    started: linux ? startedOnLinux : startedElsewhere,
  };
}

function startedOnLinux(pid: number): string | undefined {
  try {
    // The process name in brackets may contain any character, so the fields are counted after the last bracket. Field 0
    // is the state, field 19 the start time.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function startedElsewhere(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
    return "";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM" ? "" : undefined;
  }
}

function isAlive({ pid, boot, started, released }: Holder, processes: Processes): boolean {
  return !released && boot === processes.boot && processes.started(pid) === started;
}

/**
 * Returns the holder that a lock file names, or undefined if the file is incomplete. Waits for a write that is in
 * progress.
 */
async function holderOf(path: string): Promise<Holder | "gone" | undefined> {
  for (let attempt = 0; attempt < 5; attempt++) {
    if (attempt > 0) await sleep(100);
    try {
      const { pid, boot, started, released } = JSON.parse(readFileSync(path, "utf8"));
      if (Number.isSafeInteger(pid) && typeof boot === "string" && typeof started === "string")
        return { pid, boot, started, released: released === true };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return "gone";
      if (code !== undefined && code !== "EISDIR") throw error;
    }
  }
  return undefined;
}

function created(path: string, text: string): boolean {
  let fd: number;
  try {
    fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  try {
    writeSync(fd, text);
    fsyncSync(fd);
    return true;
  } catch (error) {
    removeEntry(path);
    throw error;
  } finally {
    closeSync(fd);
  }
}

function numbers(lock: string): readonly number[] {
  return readdirSync(lock)
    .filter((name) => /^[1-9]\d{0,14}$/.test(name))
    .map(Number);
}

function greatest(lock: string): number {
  return Math.max(0, ...numbers(lock));
}

function locked(holder: number, self: number): KnownError {
  const who = holder === self ? `this process (PID ${holder})` : `another process (PID ${holder})`;
  return new KnownError(
    "store_locked",
    `The folder is in use by ${who}. Only one process at a time can use it. Close the store there, or name another folder.`,
    {
      details: { pid: holder },
    },
  );
}
