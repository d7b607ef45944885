import { type ChildProcess, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { SandboxedEnd, SandboxedProcess, SandboxLimits } from "@skein/core";
import type { Cgroup } from "./cgroups.ts";
import { seconds } from "./guard.ts";
import { type WatchedFolder, watchLimits } from "./watch-limits.ts";

/** A command that starts the guard and its program. */
export interface GuardedCommand {
  readonly command: readonly string[];
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  /** Limits that this server checks while the command runs. */
  readonly limits?: SandboxLimits | undefined;
  /** The folders with a size limit. */
  readonly folders?: readonly WatchedFolder[];
  /** The control group that the command joins. */
  readonly cgroup?: Cgroup | undefined;
  /** The content of descriptors 4, 5, 6 … of the command. */
  readonly inputs?: readonly (string | Uint8Array)[];
}

/** The file descriptor of the first input. Descriptor 3 has the messages for the guard. */
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
    // The program gets a separate process group. Signals from this server's terminal then do not reach it, and one
    // signal can kill the whole group.
    detached: true,
    stdio: ["pipe", "pipe", "pipe", "pipe", ...inputs.map(() => "pipe" as const)],
  });
  const [stdin, stdout, stderr, words, ...pipes] = child.stdio as unknown as [
    Writable,
    Readable,
    Readable,
    ...Writable[],
  ];
  // If the program has ended, write errors are ignored, because `ended` reports its end.
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
      // In a namespace, the kernel has ended all other processes. In a process group, other processes may still run.
      killAll(child, words);
      // The control group is removed later, so that the end of the program is reported without delay.
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
  // Without its pipe, the guard ends the remaining processes of the program.
  words?.destroy();
}
