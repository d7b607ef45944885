import { readFileSync, readdirSync } from "node:fs";
import type { SandboxLimits } from "@skein/core";

/**
 * Looks every second at what a sandboxed program and everything that it started use together. The kernel's own limits hold for
 * each process alone, and those of all processes (cgroups) need rights that an ordinary user does not have.
 *
 * Between two looks a program can use more than it may. What it cannot do is keep it.
 */
export function watchLimits(
  pid: number,
  { totalMemoryBytes, processes }: SandboxLimits,
  exceeded: (reason: string) => void,
): () => void {
  if ((totalMemoryBytes === undefined && processes === undefined) || process.platform !== "linux") return () => {};
  const timer = setInterval(() => {
    const all = descendantsOf(pid);
    if (processes !== undefined && all.length > processes)
      return exceeded(`it had ${all.length} processes, and may have ${processes}`);
    const bytes = totalMemoryBytes === undefined ? 0 : all.reduce((sum, each) => sum + ownMemoryOf(each), 0);
    if (totalMemoryBytes !== undefined && bytes > totalMemoryBytes)
      exceeded(`its processes used ${mebibytes(bytes)} MiB of memory, and may use ${mebibytes(totalMemoryBytes)} MiB`);
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

const LOOK_MS = 1000;
const PAGE_BYTES = 4096;
/** A program that forks without end is stopped long before all of it was counted. */
const MOST = 20_000;

const mebibytes = (bytes: number): number => Math.ceil(bytes / 1024 / 1024);

/** Every process below one. Those that left their group are among them: in a namespace they stay below its first process. */
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
    // It has ended meanwhile.
    return [];
  }
}

/** Memory that a process shares with nobody, such as its heap; not its program and libraries. */
function ownMemoryOf(pid: number): number {
  try {
    const [, resident = "0", shared = "0"] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return (Number(resident) - Number(shared)) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
