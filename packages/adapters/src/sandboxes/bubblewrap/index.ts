import { existsSync } from "node:fs";
import { type Sandbox, type SandboxedProcess, type SandboxedProgram, syscallFilter } from "@skein/core";
import { KnownError } from "@skein/protocol";
import { openCgroups } from "../cgroups.ts";
import { findProgram } from "../find-program.ts";
import { guardOf } from "../guard.ts";
import { FIRST_INPUT, startGuarded } from "../guarded-process.ts";
import { USER_FILES, bubblewrapArguments } from "./bubblewrap-arguments.ts";
import { proveWalls } from "./prove-walls.ts";

/** A sandbox, or the problem that prevents it. The problem is a text for people. */
export type OpenedSandbox = { readonly sandbox: Sandbox } | { readonly problem: string };

/**
 * Opens a sandbox of kernel namespaces: bubblewrap, with a filter of kernel calls. It needs neither root nor a
 * container engine.
 *
 * Tests the sandbox with a program that tries forbidden actions. Reasons:
 * docs/decisions/170-bubblewrap-for-sessions.md.
 */
export async function openBubblewrap(find = findProgram, arch: string = process.arch): Promise<OpenedSandbox> {
  if (process.platform !== "linux") return { problem: "The sandbox needs bubblewrap, which runs on Linux only." };
  const [bwrap, bash, setpriv] = [find("bwrap"), find("bash"), find("setpriv")];
  if (bwrap === undefined)
    return {
      problem: 'The sandbox needs bubblewrap, which is not on this machine. On Debian: "apt-get install bubblewrap".',
    };
  if (bash === undefined || setpriv === undefined)
    return {
      problem: `The sandbox needs ${bash === undefined ? "bash" : "setpriv (util-linux)"}, which is not on this machine.`,
    };
  const sandbox = createBubblewrap({ bwrap, bash, setpriv, arch }, openCgroups());
  const problem = await proveWalls(sandbox);
  return problem === undefined ? { sandbox } : { problem };
}

let opened: Promise<OpenedSandbox> | undefined;

/**
 * Returns the sandbox of this process, and tests it at the first call. After a problem, the next call tries again,
 * because bubblewrap may have been installed.
 */
export async function openSandbox(): Promise<OpenedSandbox> {
  const found = (opened ??= openBubblewrap());
  if ("problem" in (await found) && opened === found) opened = undefined;
  return found;
}

interface Programs {
  readonly bwrap: string;
  readonly bash: string;
  readonly setpriv: string;
  /** The processor architecture, which decides the filter of kernel calls. */
  readonly arch: string;
}

function createBubblewrap({ bwrap, bash, setpriv, arch }: Programs, found: ReturnType<typeof openCgroups>): Sandbox {
  const cgroups = "problem" in found ? undefined : found;
  const filter = syscallFilter(arch, { sockets: true });
  const inputs = [USER_FILES.passwd, USER_FILES.group, USER_FILES.hosts, ...(filter ? [filter] : [])];
  const pipes = {
    passwd: FIRST_INPUT + 1,
    group: FIRST_INPUT + 2,
    hosts: FIRST_INPUT + 3,
    filter: filter && FIRST_INPUT + 4,
  };
  const lastPipe = FIRST_INPUT + inputs.length;
  const launcher = [bash, "--noprofile", "--norc", "-p", "-c", LAUNCH, "launcher", String(lastPipe)];
  const walled = [setpriv, "--pdeathsig", "KILL", "--", bwrap, "--args", String(FIRST_INPUT), "--"];

  function start(program: SandboxedProgram): SandboxedProcess {
    const missing = program.places.find(({ path }) => !existsSync(path));
    if (missing) throw new KnownError("invalid", `The sandbox cannot be started: ${missing.path} does not exist.`);
    const args = bubblewrapArguments(program, pipes).map((each) => `${each}\0`);
    const cgroup = program.limits && cgroups?.create(program.limits);
    const joins = cgroup?.joins ?? [];
    return startGuarded({
      cgroup,
      command: [
        ...launcher,
        String(joins.length),
        ...joins,
        ...walled,
        ...guardOf(bash, program),
        program.command,
        ...program.args,
      ],
      cwd: "/",
      // Programs in the sandbox can read bubblewrap's environment, so it is empty.
      env: {},
      limits: program.limits,
      folders: program.places
        .filter(({ access }) => access === "write")
        .map(({ path, identity }) => ({ path, isNamed: identity !== undefined })),
      inputs: [args.join(""), ...inputs],
    });
  }

  return {
    walls: {
      driver: "bubblewrap",
      files: true,
      network: true,
      processes: true,
      kernelCalls: filter !== undefined,
      limits: limitsSentence(found),
      summary: filter
        ? "Programs of a session run in a sandbox of their own (bubblewrap, with a filter of kernel calls)."
        : `Programs of a session run in a sandbox of their own (bubblewrap). Their kernel calls are not filtered: Skein has no filter for ${arch}.`,
    },
    start,
  };
}

function limitsSentence(found: ReturnType<typeof openCgroups>): string {
  const rest = "CPU time and disk by a check every second, file size and temporary files by the kernel";
  if ("problem" in found)
    return `Limits: memory and processes by rlimits and a check every second, because ${found.problem}; ${rest}.`;
  return `Limits: memory and processes by cgroups (version ${found.version}), which also share CPU time between sandboxes; ${rest}.`;
}

/**
 * Joins the control groups, and closes every file descriptor that this server got from its parent process. Node and
 * bubblewrap do not close these descriptors. With the descriptor of an outside folder, a program could leave the
 * sandbox.
 */
const LAUNCH = `
last=$1
groups=$2
shift 2
for ((; groups > 0; groups--)); do
  echo $$ > "$1" || exit 125
  shift
done
for path in /proc/self/fd/*; do
  number=\${path##*/}
  if [ "$number" -gt "$last" ]; then eval "exec $number>&-"; fi
done
exec "$@"
`;
