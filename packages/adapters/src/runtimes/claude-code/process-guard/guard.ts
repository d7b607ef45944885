/**
 * The guard of a child process: a shell of 2 MB between this server and the child, the first process of the child's namespace.
 *
 * The server says on descriptor 3 for how many seconds the child may go on without another word; or the name of a signal
 * for it. Once that time is over, and as soon as the server is gone (the pipe ends), everything in the group is killed. When
 * the child ends, so does the guard, with its exit code; in a namespace the kernel then ends whatever is left.
 *
 * Nothing that the child's environment names is run by the shell: not by `BASH_ENV` (`-p`), and no `.bashrc`, which bash
 * would read because its standard input is a socket (`--norc`).
 */
export const guardOf = (bash: string, seconds: string): readonly string[] => [
  bash,
  "--noprofile",
  "--norc",
  "-p",
  "-c",
  GUARD,
  "guard",
  seconds,
];

const GUARD = `
ulimit -c 0
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
