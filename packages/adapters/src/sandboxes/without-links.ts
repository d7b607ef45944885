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
 * Reads, writes and removes files in a folder that a sandboxed program can write to. The server is outside of the
 * sandbox. A symbolic link of the program could make the server read files that the program must not see.
 *
 * No component of a path may be a link, not even a link that is created during the access. Each folder is therefore
 * opened relative to the previous open folder.
 */

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, O_CREAT, O_TRUNC } = constants;

/**
 * Reads a plain file. Returns undefined if the file is missing, not a plain file, too large, or has a link in its path.
 */
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

/** Writes a file and creates its folders. Returns false if this failed. */
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

/** Returns at most `most` names in a folder. Returns no names if the folder is missing or has a link in its path. */
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

/**
 * Returns device and inode of a folder, such as `66:1234`. Returns undefined if the folder is missing or has a link in
 * its path.
 */
export function folderIdentity(path: string): string | undefined {
  const names = path.split("/").filter((name) => name !== "");
  return within("/", [...names, "."], (place) => {
    const { dev, ino } = statSync(place, { bigint: true });
    return `${dev}:${ino}`;
  });
}

/** Removes a file, or a folder with its content. Removes a link but does not follow it. */
export function removeWithoutLinks(root: string, path: readonly string[]): void {
  within(root, path, (place) => {
    rmSync(place, { recursive: true, force: true, maxRetries: 3 });
  });
}

/** Calls `act` with a path whose folder is kept open during the call. Returns undefined if there is any error. */
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
    // For example, the path does not exist, has a link, or has the wrong type.
    return undefined;
  } finally {
    for (const each of held) closeSync(each);
  }
}

/**
 * Opens a folder and returns a path for it that nobody can replace. On systems without such paths, checks the folder
 * instead.
 */
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
