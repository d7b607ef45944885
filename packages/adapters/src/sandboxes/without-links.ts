import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  opendirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/**
 * The server uses these functions for files in a folder that a sandboxed program writes to. The server is outside of
 * the sandbox: a symbolic link that the program created could make it read files that the program must not see.
 *
 * No component of a path may be a link, not even one that is created during the access: each folder is opened relative
 * to the folder that was opened before.
 */

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, O_CREAT, O_TRUNC } = constants;

/** The content of a plain file; undefined if it is missing, not a plain file, too large, or has a link in its path. */
export function readWithoutLinks(root: string, path: readonly string[], maximumBytes: number): Uint8Array | undefined {
  return within(root, path, (place) => {
    // Without O_NONBLOCK, a pipe would block the server until somebody writes to it.
    const file = openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const found = fstatSync(file);
      return found.isFile() && found.size <= maximumBytes ? readFileSync(file) : undefined;
    } finally {
      closeSync(file);
    }
  });
}

/** Writes a file and creates its folders. Returns whether it succeeded. */
export function writeWithoutLinks(root: string, path: readonly string[], data: Uint8Array | string): boolean {
  const isWritten = within(
    root,
    path,
    (place) => {
      const file = openSync(place, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0o600);
      try {
        if (!fstatSync(file).isFile()) return false;
        writeFileSync(file, data);
        return true;
      } finally {
        closeSync(file);
      }
    },
    { makes: true },
  );
  return isWritten ?? false;
}

/** At most `most` of the names in a folder; none if the folder is missing or has a link in its path. */
export function namesWithoutLinks(root: string, path: readonly string[], most: number): readonly string[] {
  return (
    within(root, [...path, "."], (place) => {
      const folder = opendirSync(place);
      try {
        const names: string[] = [];
        for (let entry = folder.readSync(); entry && names.length < most; entry = folder.readSync())
          names.push(entry.name);
        return names;
      } finally {
        folder.closeSync();
      }
    }) ?? []
  );
}

/** Device and inode of a folder, as `66:1234`; undefined if it is missing or a component of its path is a link. */
export function folderIdentity(path: string): string | undefined {
  const names = path.split("/").filter((name) => name !== "");
  return within("/", [...names, "."], (place) => {
    const { dev, ino } = statSync(place, { bigint: true });
    return `${dev}:${ino}`;
  });
}

/** Removes a file or a folder with its content. Links are removed, not followed. */
export function removeWithoutLinks(root: string, path: readonly string[]): void {
  within(root, path, (place) => {
    rmSync(place, { recursive: true, force: true, maxRetries: 3 });
  });
}

/**
 * Calls `work` with the last component of a path, in a folder that is kept open during the call. Undefined if the path
 * does not exist.
 */
function within<Result>(
  root: string,
  path: readonly string[],
  act: (place: string) => Result,
  { makes = false } = {},
): Result | undefined {
  const held: number[] = [];
  try {
    let folder = heldPlace(root, held);
    for (const name of path.slice(0, -1)) {
      const next = join(folder, plain(name));
      if (makes) makeFolder(next);
      folder = heldPlace(next, held);
    }
    const last = path.at(-1) ?? "";
    return act(last === "." ? folder : join(folder, plain(last)));
  } catch {
    // The path does not exist, or has the wrong type.
    return undefined;
  } finally {
    for (const each of held) closeSync(each);
  }
}

/** The path of an open folder that nobody can replace. On systems without such paths, the folder is checked instead. */
function heldPlace(folder: string, held: number[]): string {
  const number = openSync(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  held.push(number);
  const place = `/proc/self/fd/${number}`;
  if (existsSync(place)) return place;
  if (lstatSync(folder).isSymbolicLink()) throw new Error("This is a link.");
  return folder;
}

function makeFolder(place: string): void {
  try {
    mkdirSync(place, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function plain(name: string): string {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name))
    throw new Error("This is not a valid file name.");
  return name;
}
