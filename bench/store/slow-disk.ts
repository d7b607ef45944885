import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { Result } from "./results.ts";

const DELAY_US = 2000;

/** Says why slow disks cannot be measured; undefined if strace works. */
export function whyNoStrace(): string | undefined {
  const works = spawnSync("strace", ["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "true"]);
  if (works.status === 0) return undefined;
  if (works.error) return "strace is not installed. On Debian: sudo apt-get install strace";
  return "strace cannot trace processes here (ptrace is not allowed).";
}

/**
 * Runs the same benchmark in a child process in which every fsync takes 2 ms longer, as on a slow disk.
 *
 * strace follows the children too, so a PostgreSQL server that the benchmark starts is slowed down as well.
 */
export async function onSlowDisk(args: readonly string[], runner: string): Promise<Result[]> {
  const slow = `inject=fsync,fdatasync:delay_enter=${DELAY_US}`;
  const child = spawn(
    "strace",
    ["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", slow].concat(
      process.execPath,
      process.execArgv,
      runner,
      args,
    ),
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const exited = once(child, "exit");
  const output = await text(child.stdout);
  await exited;
  return JSON.parse(output) as Result[];
}
