import { text } from "node:stream/consumers";
import type { Sandbox, SandboxedProgram } from "@skein/core";
import type { OpenedSandbox } from "./bubblewrap/index.ts";
import { findProgram } from "./find-program.ts";
import { guardOf } from "./guard.ts";
import { startGuarded } from "./guarded-process.ts";

/**
 * With `--kill-child`, the death of `unshare` kills the first process of the namespace. The kernel then kills all its
 * other processes.
 */
const PID = ["--pid", "--fork", "--kill-child=KILL"];
/**
 * The arguments of `unshare` that are tried, best first. An ordinary user needs a user namespace. Some containers
 * forbid a new /proc, and some forbid all namespaces.
 */
const NAMESPACES = [
  [...PID, "--mount-proc"],
  ["--user", "--map-current-user", ...PID, "--mount-proc"],
  PID,
  ["--user", "--map-current-user", ...PID],
];

const PROBE_MS = 10_000;
const PROBE_CODE = 7;

/**
 * Opens a sandbox without walls: a program has all rights of this server's user. The only guarantee is that the program
 * ends with its server. The program runs in a process namespace. If the system does not allow that, it runs in a
 * process group, which a program can leave.
 *
 * Returns a problem if the guard does not work, for example because bash is missing.
 */
export async function openNone(find = findProgram): Promise<OpenedSandbox> {
  const [bash, setpriv, unshare] = [find("bash"), find("setpriv"), find("unshare")];
  if (bash === undefined)
    return { problem: "The script that watches the processes of Claude Code needs bash. Install bash." };
  // The kernel kills the command when the server dies, even before the guard has started.
  const dying = setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", "--"];
  for (const namespace of unshare === undefined ? [] : NAMESPACES) {
    const prefix = [...dying, unshare ?? "", ...namespace, "--"];
    if ((await problemOf(prefix, bash)) === undefined)
      return createNone(prefix, bash, {
        processes: true,
        summary: "Claude Code runs in a process namespace of its own: nothing that it starts survives it.",
      });
  }
  const problem = await problemOf(dying, bash);
  if (problem !== undefined)
    return {
      problem: `The script that watches the processes of Claude Code does not work on this machine: ${problem}`,
    };
  const missing =
    unshare === undefined ? "unshare (util-linux) is not installed" : "this system does not allow unshare";
  return createNone(dying, bash, {
    processes: false,
    summary: `Claude Code runs in a process group only, because ${missing}: a program that leaves the group may survive a crash of the server.`,
  });
}

function createNone(
  prefix: readonly string[],
  bash: string,
  found: { readonly processes: boolean; readonly summary: string },
): OpenedSandbox {
  const sandbox: Sandbox = {
    walls: {
      driver: "none",
      files: false,
      network: false,
      kernelCalls: false,
      limits: "Limits: memory, processes and CPU time by rlimits and a check every second, file size by the kernel.",
      ...found,
    },
    start: ({ command, args, cwd, env, limits, goodForMs }: SandboxedProgram) =>
      // The size of the program's folders is not limited, because they belong to the machine and existed before.
      startGuarded({
        command: [...prefix, ...guardOf(bash, { goodForMs, limits }), command, ...args],
        cwd,
        env,
        limits,
      }),
  };
  return { sandbox };
}

/** Tests the guard with this prefix. It must pass on the exit code of its program. Returns the problem, if any. */
async function problemOf(prefix: readonly string[], bash: string): Promise<string | undefined> {
  const probe = startGuarded({
    command: [...prefix, ...guardOf(bash, { goodForMs: PROBE_MS }), "/bin/sh", "-c", `exit ${PROBE_CODE}`],
    env: {},
  });
  const [errors, { code }] = await Promise.all([text(probe.stderr), probe.ended]);
  if (code === PROBE_CODE) return undefined;
  return errors.trim() || `its test ended with ${code ?? "a signal"} instead of ${PROBE_CODE}.`;
}
