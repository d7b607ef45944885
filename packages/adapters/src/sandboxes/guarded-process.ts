import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { SandboxedEnd, SandboxedProcess, SandboxLimits } from "@skein/core";
import type { Cgroup } from "./cgroups.ts";
import { seconds } from "./guard.ts";
import { type WatchedFolder, watchLimits } from "./watch-limits.ts";

/** A command line that ends with the guard and the guarded program. */
export interface GuardedCommand {
  readonly command: readonly string[];
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  /** Limits that this server checks while the command runs. */
  readonly limits?: SandboxLimits | undefined;
  /** Folders whose size is limited. */
  readonly folders?: readonly WatchedFolder[];
  /** The control group that the command joins. */
  readonly cgroup?: Cgroup | undefined;
  /** The content of descriptors 4, 5, 6 … of the command. */
  readonly inputs?: readonly (string | Uint8Array)[];
}

/** The first descriptor of `inputs`; descriptor 3 has the messages for the guard. */
export const FIRST_INPUT = 4;

/** Starts a guarded command. Throws the errors of `spawn`, such as E2BIG for arguments that are too large. */
export function startGuarded({
  command: [program = "", ...args],
  cwd,
  env,
  inputs = [],
  limits = {},
  folders = [],
  cgroup,
}: GuardedCommand): SandboxedProcess {
  const child = spawn(program, args, {
    ...(cwd !== undefined && { cwd }),
    env,
    // The program gets a separate process group: signals of this server's terminal do not reach it, and the whole group
    // can be killed with one signal.
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe", ...inputs.map(() => "pipe" as const)],
  });
  const [stdin, stdout, stderr, words, ...pipes] = child.stdio as unknown as [
    Writable,
    Readable,
    Readable,
    ...Writable[],
  ];
  // Write errors of a program that has ended are ignored; `ended` reports how it ended.
  for (const stream of [stdin, words, ...pipes]) stream?.on("error", () => {});
  for (const [index, input] of inputs.entries()) pipes[index]?.end(input);

  let limit: string | undefined;
  const stopWatching =
    child.pid === undefined
      ? () => {}
      : watchLimits(child.pid, { limits, folders, cgroup }, (reason) => {
          limit ??= reason;
          killAll(child, words);
        });
  const ended = new Promise<SandboxedEnd>((resolve) => {
    child.once("error", () => {
      cgroup?.remove();
      resolve({ code: null, signal: null });
    });
    child.once("exit", (code, signal) => {
      stopWatching();
      // The kernel may have killed the program between two checks.
      limit ??= cgroup?.exceeded();
      // In a namespace the kernel has ended all other processes. In a process group, some may still run.
      killAll(child, words);
      // Runs in the background: the end of the program does not wait for it.
      if (cgroup) setImmediate(() => cgroup.remove());
      resolve({ code, signal, ...(limit !== undefined && { limit }) });
    });
  });

  return {
    pid: child.pid,
    stdin,
    stdout,
    stderr,
    ended,
    allow: (ms) => void words?.write(`${seconds(ms)}\n`),
    kill(signal) {
      if (signal === "SIGKILL") return killAll(child, words);
      words?.write(`${signal.slice("SIG".length)}\n`);
    },
  };
}

function killAll(child: ChildProcess, words: Writable | undefined): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // The process has ended already.
  }
  // Closes the guard's pipe, which ends the remaining processes of the program.
  words?.destroy();
}
