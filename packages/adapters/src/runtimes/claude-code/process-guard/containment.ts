import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { guardOf } from "./guard.ts";

/** How child processes are held together on this machine, so that none outlives its server. */
export interface Containment {
  /**
   * `namespace`: nothing that the child starts survives it or sees other processes.
   * `group`: what leaves the child's process group may survive it.
   */
  readonly kind: "namespace" | "group";
  /** What stands before the guard. */
  readonly prefix: readonly string[];
  readonly bash: string;
  /** A sentence for an operator. */
  readonly says: string;
}

/** Looked for here and not in a PATH that somebody may have set. */
const FOLDERS = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/opt/homebrew/bin"];
const PROBE_MS = 10_000;
const PROBE_CODE = 7;

/** `--kill-child`: when `unshare` dies, the kernel kills the first process of the namespace, and that ends all of it. */
const PID = ["--pid", "--fork", "--kill-child=KILL"];
/** The best first. An ordinary user needs a user namespace; some containers refuse a new /proc, some all of it. */
const NAMESPACES = [
  [...PID, "--mount-proc"],
  ["--user", "--map-current-user", ...PID, "--mount-proc"],
  PID,
  ["--user", "--map-current-user", ...PID],
];

/** Tries what this machine allows. Undefined: there is no bash that could be the guard. */
export async function findContainment(find = programNamed): Promise<Containment | undefined> {
  const [bash, setpriv, unshare] = [find("bash"), find("setpriv"), find("unshare")];
  if (bash === undefined) return undefined;
  // The kernel kills what follows when the server dies, even before the guard is up.
  const dying = setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", "--"];
  for (const namespace of unshare === undefined ? [] : NAMESPACES) {
    const prefix = [...dying, unshare ?? "", ...namespace, "--"];
    if (await holds(prefix, bash))
      return {
        kind: "namespace",
        prefix,
        bash,
        says: "Claude Code runs in a process namespace of its own: nothing that it starts survives it.",
      };
  }
  if (!(await holds(dying, bash))) return undefined;
  const missing = unshare === undefined ? "unshare (util-linux) is not there" : "this system does not allow unshare";
  return {
    kind: "group",
    prefix: dying,
    bash,
    says: `Claude Code runs in a process group only, because ${missing}: a program that leaves the group may survive a crash of the server.`,
  };
}

/** Whether the guard does its work there: it hands on the exit code of what it guards. */
function holds(prefix: readonly string[], bash: string): Promise<boolean> {
  const [program, ...args] = [...prefix, ...guardOf(bash, "60"), "/bin/sh", "-c", `exit ${PROBE_CODE}`];
  const probe = spawn(program, args, {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
    env: {},
    timeout: PROBE_MS,
    // The guard kills its group: it must have one of its own.
    detached: true,
  });
  probe.stdio[3]?.on("error", () => {});
  return new Promise((resolve) => {
    probe.on("error", () => resolve(false)).on("exit", (code) => resolve(code === PROBE_CODE));
  });
}

function programNamed(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
