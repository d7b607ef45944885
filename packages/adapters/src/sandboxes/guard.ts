import type { SandboxLimits, SandboxPlace } from "@skein/core";

/**
 * Returns the command of a guard, a small shell that starts a program. The guard is the first process of the namespace.
 *
 * The server writes messages to descriptor 3. A message is the number of seconds until the next message is due, or the
 * name of a signal for the program. If the next message does not arrive in time, or if the server has ended (the pipe
 * closes), the guard kills its whole process group. When the program ends, the guard ends with the same exit code, and
 * the kernel ends all other processes of the namespace.
 *
 * The shell must not run files from the program's environment: `-p` ignores `BASH_ENV`, and `--norc` ignores `.bashrc`.
 * Without `--norc`, bash would read `.bashrc` because its standard input is a socket. Reasons:
 * docs/decisions/080-guard-of-claude-code.md.
 */
export function guardOf(
  bash: string,
  { goodForMs = AS_LONG_AS_THE_SERVER_MS, limits = {}, places = [] }: Guarded,
): readonly string[] {
  const script = `${ulimits(limits)}${places.map(sameFolder).join("")}${GUARD}`;
  return [bash, "--noprofile", "--norc", "-p", "-c", script, "guard", seconds(goodForMs)];
}

interface Guarded {
  readonly goodForMs?: number | undefined;
  readonly limits?: SandboxLimits | undefined;
  /** The paths in the sandbox. If a folder has an identity, the guard checks it. */
  readonly places?: readonly SandboxPlace[];
}

/** Returns commands that end the guard if the folder was replaced. The program is then not started. */
function sameFolder({ path, inside = path, identity }: SandboxPlace): string {
  if (identity === undefined) return "";
  const place = `'${inside.replaceAll("'", "'\\''")}'`;
  return `if [ "$(PATH=${PROGRAMS} stat -c %d:%i -- ${place})" != ${identity} ]; then
  echo "The folder" ${place} "was replaced by another one while the session was starting." >&2
  exit 125
fi
`;
}

const PROGRAMS = "/usr/bin:/bin:/run/current-system/sw/bin";

/** Converts a time limit to the format of the guard. */
export const seconds = (ms: number): string => (ms / 1000).toFixed(3);

const AS_LONG_AS_THE_SERVER_MS = 365 * 24 * 3600 * 1000;

/**
 * Returns the largest number of tasks in a sandbox. It is larger than the limit of processes, because the kernel also
 * counts threads.
 */
export const taskLimit = (processes: number): number => 4 * processes + 64;

/**
 * Returns commands that set limits for the guard and its descendants. The guard sets them inside the sandbox, where
 * processes are counted per sandbox.
 */
function ulimits({ memoryBytes, processes, fileBytes, cpuSeconds }: SandboxLimits): string {
  const kibibytes = (bytes: number): number => Math.ceil(bytes / 1024);
  return [
    "ulimit -c 0\n",
    memoryBytes === undefined ? "" : `ulimit -d ${kibibytes(memoryBytes)}\n`,
    fileBytes === undefined ? "" : `ulimit -f ${kibibytes(fileBytes)}\n`,
    // `watchLimits` usually ends all processes and reports why. This limit ends a process that exceeds the limit
    // between two checks.
    cpuSeconds === undefined ? "" : `ulimit -t ${Math.ceil(cpuSeconds) + 5}\n`,
    // The kernel does not enforce this limit for root.
    processes === undefined ? "" : `ulimit -u ${taskLimit(processes)}\n`,
  ].join("");
}

const GUARD = `
seconds=$1
shift
"$@" <&0 3<&- &
child=$!
exec <&- >&-
{
  while read -r -t "$seconds" -u 3 word; do
    case $word in
      [0-9]*) seconds=$word ;;
      *) kill -s "$word" "$child" ;;
    esac
  done
  kill -s KILL 0
} 2>&- &
exec 3<&- 2>&-
wait "$child"
`;
