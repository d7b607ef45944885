import type { SandboxLimits, SandboxPlace } from "@skein/core";

/**
 * The guard of a sandboxed program: a small shell between this server and the program, the first process of its
 * namespace.
 *
 * The server writes messages to descriptor 3: the number of seconds that the program may run without a further message,
 * or the name of a signal for it. When that time is over, or when the server has ended (the pipe closes), everything in
 * the group is killed. When the program ends, so does the guard, with its exit code; in a namespace the kernel then
 * ends whatever is left.
 *
 * The shell runs no file that the program's environment names: neither `BASH_ENV` (`-p`) nor `.bashrc`, which bash
 * would read because its standard input is a socket (`--norc`). Reasons: decision 080.
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
  /** Files and folders in the sandbox. A folder with an identity must still be the same folder. */
  readonly places?: readonly SandboxPlace[];
}

/** Ends the guard before its program starts if the folder at this path is not the expected one. */
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

/** A time limit in the format of the guard. */
export const seconds = (ms: number): string => (ms / 1000).toFixed(3);

const AS_LONG_AS_THE_SERVER_MS = 365 * 24 * 3600 * 1000;

/** The largest number of tasks in a sandbox. The kernel counts threads too, so this is higher than the limit of processes. */
export const taskLimit = (processes: number): number => 4 * processes + 64;

/**
 * Limits apply to the guard and to everything that it starts. They are set inside, where processes are counted per
 * sandbox.
 */
function ulimits({ memoryBytes, processes, fileBytes, cpuSeconds }: SandboxLimits): string {
  const kibibytes = (bytes: number): number => Math.ceil(bytes / 1024);
  return [
    "ulimit -c 0\n",
    memoryBytes === undefined ? "" : `ulimit -d ${kibibytes(memoryBytes)}\n`,
    fileBytes === undefined ? "" : `ulimit -f ${kibibytes(fileBytes)}\n`,
    // Usually `watchLimits` ends all processes together, and reports why. This limit ends a single process that is over the
    // limit between two checks.
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
