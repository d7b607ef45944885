import { readFileSync, readdirSync } from "node:fs";
import type { SandboxLimits } from "@skein/core";
import type { Cgroup } from "./cgroups.ts";
import { deletedBytes, folderBytesAbove } from "./folder-size.ts";

/**
 * Checks every second the usage of a program and its descendants, and whether its control group has exceeded a limit.
 * Rlimits are not enough, because they apply to each process separately. Control groups need rights that an ordinary
 * user does not have.
 *
 * Without a control group, a program can exceed a limit between two checks. The returned function stops the checks.
 */
export function watchLimits(
  pid: number,
  { limits, folders, cgroup }: Watched,
  exceeded: (reason: string) => void,
): () => void {
  const { totalMemoryBytes, processes, cpuSeconds, folderBytes } = limits;
  const isWatched = [totalMemoryBytes, processes, cpuSeconds, folderBytes].some((limit) => limit !== undefined);
  if (!isWatched || process.platform !== "linux") return () => {};
  const stopped = new AbortController();
  const timer = setInterval(() => {
    const reason = cgroup?.exceeded() ?? processReason(descendantsOf(pid), limits);
    if (reason !== undefined) exceeded(reason);
  }, LOOK_MS);
  timer.unref();
  if (folderBytes !== undefined)
    void watchFolders(pid, folders, { limit: folderBytes, exceeded, signal: stopped.signal });
  return () => {
    clearInterval(timer);
    stopped.abort();
  };
}

/** A folder with a size limit. */
export interface WatchedFolder {
  readonly path: string;
  /** True for a folder that the request named. Such a folder may already be large. */
  readonly isNamed: boolean;
}

interface Watched {
  readonly limits: SandboxLimits;
  readonly folders: readonly WatchedFolder[];
  readonly cgroup?: Pick<Cgroup, "exceeded"> | undefined;
}

const LOOK_MS = 1000;
const PAGE_BYTES = 4096;
/** The clock ticks per second in /proc. They are the same on every Linux. */
const TICKS_PER_SECOND = 100;
/** The largest number of processes that are counted. A program that forks without end is stopped much earlier. */
const MOST = 20_000;

const mebibytes = (bytes: number): number => Math.ceil(bytes / 1024 / 1024);

function processReason(all: readonly number[], limits: SandboxLimits): string | undefined {
  const { totalMemoryBytes, processes, cpuSeconds } = limits;
  if (processes !== undefined && all.length > processes)
    return `it had ${all.length} processes, and may have ${processes}`;
  const bytes = totalMemoryBytes === undefined ? 0 : all.reduce((sum, each) => sum + ownMemoryOf(each), 0);
  if (totalMemoryBytes !== undefined && bytes > totalMemoryBytes)
    return `its processes used ${mebibytes(bytes)} MiB of memory, and may use ${mebibytes(totalMemoryBytes)} MiB`;
  const seconds = cpuSeconds === undefined ? 0 : all.reduce((sum, each) => sum + cpuSecondsOf(each), 0);
  if (cpuSeconds !== undefined && seconds > cpuSeconds)
    return `its processes used ${Math.round(seconds)} s of CPU time, and may use ${cpuSeconds} s`;
  return undefined;
}

interface Watching {
  readonly limit: number;
  readonly exceeded: (reason: string) => void;
  readonly signal: AbortSignal;
}

/** The largest fraction of the time that is spent on measuring. Measuring a large folder takes long. */
const LOOKING_SHARE = 0.05;

/**
 * Checks the total size of folders. If the folders that the request named are larger than the limit at the start, the
 * total may be the limit plus this size.
 */
async function watchFolders(
  pid: number,
  folders: readonly WatchedFolder[],
  { limit, exceeded, signal }: Watching,
): Promise<void> {
  const sizeOf = async (some: readonly WatchedFolder[], most: number): Promise<number> => {
    let bytes = 0;
    for (const { path } of some) bytes += await folderBytesAbove(path, most - bytes, signal);
    return bytes;
  };
  const named = folders.filter(({ isNamed }) => isNamed);
  const first = await sizeOf(named, Infinity);
  const most = first > limit && Number.isFinite(first) ? first + limit : limit;
  for (let lookMs = 0; !signal.aborted;) {
    await pause(Math.max(LOOK_MS, lookMs / LOOKING_SHARE), signal);
    if (signal.aborted) return;
    const started = performance.now();
    let bytes = await sizeOf(folders, most);
    // A file that is deleted while it is open uses disk space until it is closed.
    if (bytes <= most) bytes += await deletedBytes(descendantsOf(pid));
    lookMs = performance.now() - started;
    if (!signal.aborted && bytes > most) return exceeded(folderReason(bytes, most));
  }
}

function folderReason(bytes: number, most: number): string {
  return bytes === Infinity
    ? "its folders had a path that is too long, so the files below that path cannot be measured"
    : `its folders had more than ${mebibytes(most)} MiB on disk, which is all that they may have`;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms).unref();
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", end, { once: true });
  });
}

/**
 * Returns a process and all its descendants, even if they left its process group. In a namespace, they remain
 * descendants of its first process.
 */
function descendantsOf(pid: number): readonly number[] {
  const found = [pid];
  for (let index = 0; index < found.length && found.length < MOST; index += 1)
    found.push(...childrenOf(found[index] ?? 0));
  return found;
}

function childrenOf(pid: number): readonly number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/** Returns the private memory of a process, without its program and libraries. */
function ownMemoryOf(pid: number): number {
  try {
    const [, resident = "0", shared = "0"] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return (Number(resident) - Number(shared)) * PAGE_BYTES;
  } catch {
    return 0;
  }
}

/** Returns the CPU time of a process and its ended children. */
function cpuSecondsOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program is in parentheses and may contain any character.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
    return ticks / TICKS_PER_SECOND;
  } catch {
    return 0;
  }
}
