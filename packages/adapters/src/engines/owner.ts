import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/**
 * Returns the owner name of this process: host, process id and start time. The start time is needed because process ids
 * are reused.
 */
export function thisOwner(): string {
  return `${hostname()}/${process.pid}/${startOf(process.pid) ?? "?"}`;
}

/** Whether an owner was a process of this host that has ended. False for other hosts, which cannot be checked. */
export function isDeadOwner(owner: string): boolean {
  const [host, pid, start] = owner.split("/");
  if (host !== hostname() || pid === undefined) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  const running = startOf(Number(pid));
  return running !== undefined && start !== "?" && running !== start;
}

/** Returns when a process started, in ticks since the start of the machine. Only available on Linux. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may contain spaces; the fields after it do not.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
