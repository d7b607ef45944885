import type { Sandbox, SandboxedProgram } from "@skein/core";
import { findProgram } from "./find-program.ts";
import { guardOf } from "./guard.ts";
import { startGuarded } from "./guarded-process.ts";

/**
 * `--kill-child`: when `unshare` dies, the kernel kills the first process of the namespace, and then all others in it.
 */
const PID = ["--pid", "--fork", "--kill-child=KILL"];
/**
 * The arguments of `unshare`, tried in this order, best first. An ordinary user needs a user namespace; some containers
 * forbid a new /proc, and some forbid namespaces.
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
 * No walls: a program can see and do everything that this server's user can. The only guarantee is that the program
 * ends with its server: it runs in a process namespace if the system allows one, otherwise in a process group, which a
 * program can leave.
 *
 * Undefined if there is no bash for the guard.
 */
export async function openNone(find = findProgram): Promise<Sandbox | undefined> {
  const [bash, setpriv, unshare] = [find("bash"), find("setpriv"), find("unshare")];
  if (bash === undefined) return undefined;
  // The kernel kills the command when the server dies, even before the guard has started.
  const dying = setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", "--"];
  for (const namespace of unshare === undefined ? [] : NAMESPACES) {
    const prefix = [...dying, unshare ?? "", ...namespace, "--"];
    if (await holds(prefix, bash))
      return createNone(prefix, bash, {
        processes: true,
        summary: "Claude Code runs in a process namespace of its own: nothing that it starts survives it.",
      });
  }
  if (!(await holds(dying, bash))) return undefined;
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
): Sandbox {
  return {
    walls: {
      driver: "none",
      files: false,
      network: false,
      kernelCalls: false,
      limits: "Limits: memory, processes and CPU time by rlimits and a check every second, file size by the kernel.",
      ...found,
    },
    start: ({ command, args, cwd, env, limits, goodForMs }: SandboxedProgram) =>
      // The size of folders is not limited here: these folders are the machine's own, and existed before.
      startGuarded({
        command: [...prefix, ...guardOf(bash, { goodForMs, limits }), command, ...args],
        cwd,
        env,
        limits,
      }),
  };
}

/** Whether the guard works with this prefix: it must pass on the exit code of its program. */
async function holds(prefix: readonly string[], bash: string): Promise<boolean> {
  const probe = startGuarded({
    command: [...prefix, ...guardOf(bash, { goodForMs: PROBE_MS }), "/bin/sh", "-c", `exit ${PROBE_CODE}`],
    env: {},
  });
  return (await probe.ended).code === PROBE_CODE;
}
