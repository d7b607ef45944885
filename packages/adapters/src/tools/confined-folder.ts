import { randomUUID } from "node:crypto";
import { type Stats, constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/**
 * A folder that paths from a model cannot leave: not by `..`, not by an absolute path, not by a link, and not by a link
 * that is swapped in between, because what was opened is checked and not what was asked for.
 *
 * Problems are sentences for the model.
 */
export interface ConfinedFolder {
  /** The real place of the folder. */
  root(): Promise<string>;
  /** Opens a plain file. Pipes, devices and folders are refused without waiting for them. */
  openFile(path: string): Promise<FileHandle>;
  /** Puts a file in place as a whole: a reader sees the old one or the new one. */
  replaceFile(path: string, text: string): Promise<void>;
  /** The real place of something inside that exists. */
  placeOf(path: string): Promise<string>;
  /** How a place is shown: relative to the folder. */
  shown(place: string): Promise<string>;
}

export function createConfinedFolder(folder: string): ConfinedFolder {
  const given = resolve(folder);
  let real: Promise<string> | undefined;
  const root = (): Promise<string> => (real ??= realpath(given));

  /** The path as text inside the folder; what it leads to is checked when it is opened. */
  async function inside(path: string): Promise<string> {
    if (path.includes("\0")) throw new Error("A path may not contain NUL.");
    const base = await root();
    // The folder may be known by a name that is itself a link.
    const place =
      path === given || path.startsWith(given + sep) ? join(base, relative(given, path)) : resolve(base, path);
    if (!within(base, place)) throw outside(path);
    return place;
  }

  async function placeOf(path: string): Promise<string> {
    const place = await realpath(await inside(path)).catch((error: unknown) => {
      throw problem(error, path);
    });
    if (!within(await root(), place)) throw outside(path);
    return place;
  }

  /** Whether what was opened is inside, whatever its path leads to by now. */
  async function isInside(file: FileHandle, opened: Stats, path: string): Promise<boolean> {
    const real = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
    if (real !== undefined) return within(await root(), real);
    const now = await stat(await placeOf(path));
    return now.dev === opened.dev && now.ino === opened.ino;
  }

  return {
    root,
    placeOf,
    async openFile(path) {
      const place = await inside(path);
      const file = await open(place, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
        throw problem(error, path);
      });
      try {
        const opened = await file.stat();
        if (opened.isDirectory()) throw new Error(`${path} is a folder.`);
        if (!opened.isFile()) throw new Error(`${path} is no plain file.`);
        if (!(await isInside(file, opened, path))) throw outside(path);
        return file;
      } catch (error) {
        await file.close();
        throw error;
      }
    },
    async replaceFile(path, text) {
      const place = await inside(path);
      const target = await realpath(place).catch(() => place);
      if (!within(await root(), target)) throw outside(path);
      await makeFolders(await root(), dirname(target), path);
      const parent = await open(dirname(target), constants.O_RDONLY | constants.O_DIRECTORY).catch((error: unknown) => {
        throw problem(error, path);
      });
      try {
        if (!within(await root(), await realpath(dirname(target)))) throw outside(path);
        await replaceIn((await heldPlace(parent, await root(), path)) ?? dirname(target), basename(target), text);
      } finally {
        await parent.close();
      }
    },
    shown: async (place) => relative(await root(), place) || ".",
  };
}

/** Makes missing folders one by one, each checked before the next is made in it. */
async function makeFolders(base: string, folder: string, path: string): Promise<void> {
  let made = base;
  for (const name of relative(base, folder).split(sep)) {
    made = join(made, name);
    await mkdir(made).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw problem(error, path);
    });
    if (!within(base, await realpath(made))) throw outside(path);
  }
}

/** An open folder by a name that nobody can swap, where the system has one. */
async function heldPlace(folder: FileHandle, base: string, path: string): Promise<string | undefined> {
  const held = `/proc/self/fd/${folder.fd}`;
  if (!existsSync(held)) return undefined;
  if (!within(base, await realpath(held))) throw outside(path);
  return held;
}

async function replaceIn(folder: string, name: string, text: string): Promise<void> {
  const target = join(folder, name);
  const draft = join(folder, `.${randomUUID()}.part`);
  const before = await lstat(target).catch(() => undefined);
  if (before && !before.isFile() && !before.isSymbolicLink()) throw new Error(`${name} is no plain file.`);
  try {
    const file = await open(draft, "wx", before?.isFile() ? before.mode & 0o777 : 0o644);
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Compared with a separator at the end: `/data/mem-evil` is not inside `/data/mem`. */
function within(base: string, place: string): boolean {
  return isAbsolute(place) && (place + sep).startsWith(base.endsWith(sep) ? base : base + sep);
}

function outside(path: string): Error {
  return new Error(`${path} is outside the folder that this tool may use.`);
}

function problem(error: unknown, path: string): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return new Error(`There is no file ${path}.`);
  if (code === "ENOTDIR") return new Error(`There is no ${path}: what should be its folder is a file.`);
  if (code === "EACCES" || code === "EPERM") return new Error(`${path} may not be opened.`);
  if (code === "ENXIO" || code === "ELOOP" || code === "ENAMETOOLONG") return new Error(`${path} cannot be opened.`);
  return error instanceof Error ? error : new Error(String(error));
}
