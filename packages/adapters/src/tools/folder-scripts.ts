/**
 * The scripts that the file tools run in a sandbox, in the working folder. `$1` is an absolute path as text. Links are
 * resolved inside the sandbox.
 *
 * `PROBLEMS` in `sandboxed-folder.ts` lists the exit codes.
 */

/**
 * Sets `real` to the target of the path. The shell would remove a line end that is part of a name, so a dot is added
 * and removed again.
 */
const RESOLVE = `
real=$(realpath -m -- "$1" 2>/dev/null; printf .)
real=\${real%$'\\n'.}
case $real/ in "$PWD"/*) ;; *) exit 20 ;; esac
missing() {
  folder=\${real%/*}
  while [ ! -e "$folder" ]; do folder=\${folder%/*}; done
  if [ -d "$folder" ]; then exit 22; fi
  exit 25
}
`;

/** Prints a line with the size of a plain file, then its content. */
export const READ = `${RESOLVE}
[ -d "$real" ] && exit 21
[ -e "$real" ] || missing
[ -f "$real" ] || exit 23
exec 4< "$real" || exit 24
stat -L -c %s /proc/self/fd/4
exec cat <&4
`;

/** Replaces a file with the script's input. `$2` is an unused name for the temporary file. */
export const REPLACE = `${RESOLVE}
[ -e "$real" ] && [ ! -f "$real" ] && exit 23
folder=\${real%/*}
if ! mkdir -p -- "$folder" 2>/dev/null; then missing; fi
draft=$folder/.$2.part
mode=$(stat -c %a -- "$real" 2>/dev/null || echo 644)
trap 'rm -f -- "$draft"; exit 26' ERR
set -E
cat > "$draft"
chmod "\${mode: -3}" -- "$draft"
mv -fT -- "$draft" "$real"
`;

/** Lists a file, or everything below a folder: kind, time, size and path of each entry, ended by NUL. */
export const LIST = `${RESOLVE}
[ -e "$real" ] || missing
shape='%y %T@ %s %P\\0'
[ -d "$real" ] || exec find "$real" -printf "$shape"
[ "$2" = everywhere ] && exec find "$real" -mindepth 1 -printf "$shape"
exec find "$real" -mindepth 1 -type d '(' -name .git -o -name node_modules ')' -prune -o -mindepth 1 -printf "$shape"
`;

/** Packs the files whose names are in its input. Leaves out files that no longer exist. */
export const PACK = `exec tar --create --file=- --format=gnu --null --verbatim-files-from --files-from=- --no-recursion --hard-dereference --ignore-failed-read 2>/dev/null`;
