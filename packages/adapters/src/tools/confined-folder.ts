import { randomUUID } from "node:crypto";
import { type Stats, constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { type WalkOptions, walkFolder } from "./walk-folder.ts";

/**
 * A folder that paths from a model cannot leave. Errors are sentences for the model.
 *
 * `createConfinedFolder` checks every path in this process. `createSandboxedFolder` opens files in a sandbox.
 */
export interface ConfinedFolder {
  /** Opens a plain file. Pipes, devices and folders are rejected without blocking. */
  openFile(path: string): Promise<ConfinedFile>;
  /** Replaces a file, so that a reader sees either the old or the new content. */
  replaceFile(path: string, text: string): Promise<void>;
  /**
   * Lists the plain files below a folder. If the path is a file, lists only this file. Links are neither followed nor
   * listed.
   */
  files(path: string, options: WalkOptions): AsyncIterable<FoundFile>;
  /** Returns the contents of files in their order. Leaves out deleted files, and files with more than `most` bytes. */
  contents(files: AsyncIterable<FoundFile>, most: number): AsyncIterable<FileContent>;
}

export interface ConfinedFile {
  readonly size: number;
  /** The content of the file from its beginning. */
  stream(most: number): Readable;
  close(): Promise<void>;
}

export interface FoundFile {
  /** The path relative to the searched folder. */
  readonly path: string;
  /** The path relative to the confined folder. */
  readonly shown: string;
  /** The size, if it is already known. */
  readonly size?: number;
  /** When it was last changed, in milliseconds. */
  changed(): Promise<number>;
}

interface FileContent {
  /** The path relative to the confined folder. */
  readonly shown: string;
  readonly bytes: Uint8Array;
}

/** How many files are read at the same time. */
const AT_ONCE = 32;

/**
 * Creates a folder that paths cannot leave by `..`, by an absolute path or by a link. It checks the opened file instead
 * of the path, so an attacker gains nothing by replacing a link at the last moment.
 */
export function createConfinedFolder(folder: string): ConfinedFolder {
  const given = resolve(folder);
  let real: Promise<string> | undefined;
  const root = (): Promise<string> => (real ??= realpath(given));

  /**
   * Returns the absolute path in the folder. Links are not resolved, because the target is checked after it is opened.
   */
  const inside = async (path: string): Promise<string> => placeInside({ given, base: await root() }, path);

  async function placeOf(path: string): Promise<string> {
    const place = await realpath(await inside(path)).catch((error: unknown) => {
      throw problem(error, path);
    });
    if (!within(await root(), place)) throw outside(path);
    return place;
  }

  /** Whether the opened file is inside the folder, even if its path now leads to another file. */
  async function isInside(file: FileHandle, opened: Stats, path: string): Promise<boolean> {
    const real = await readlink(`/proc/self/fd/${file.fd}`).catch(() => undefined);
    if (real !== undefined) return within(await root(), real);
    const now = await stat(await placeOf(path));
    return now.dev === opened.dev && now.ino === opened.ino;
  }

  async function openFile(path: string): Promise<ConfinedFile> {
    const place = await inside(path);
    const file = await open(place, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
      throw problem(error, path);
    });
    try {
      const opened = await file.stat();
      if (opened.isDirectory()) throw aFolder(path);
      if (!opened.isFile()) throw noPlainFile(path);
      if (!(await isInside(file, opened, path))) throw outside(path);
      return {
        size: opened.size,
        stream: (most) => file.createReadStream({ start: 0, end: Math.max(0, most - 1), autoClose: false }),
        close: () => file.close(),
      };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async function contentOf({ shown }: FoundFile, most: number): Promise<readonly FileContent[]> {
    const file = await openFile(shown).catch(() => undefined);
    if (!file) return [];
    try {
      return file.size > most ? [] : [{ shown, bytes: await bytesOf(file, most) }];
    } finally {
      await file.close();
    }
  }

  return {
    openFile,
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
    async *files(path, options) {
      const place = await placeOf(path);
      const found = (file: string): FoundFile => ({
        path: file,
        shown: relative(base, join(place, file)) || ".",
        changed: () =>
          stat(join(place, file)).then(
            ({ mtimeMs }) => mtimeMs,
            () => 0,
          ),
      });
      const base = await root();
      if ((await stat(place)).isFile()) return yield found("");
      for await (const file of walkFolder(place, options)) yield found(file);
    },
    async *contents(files, most) {
      for await (const group of inGroups(files, AT_ONCE))
        yield* (await Promise.all(group.map((file) => contentOf(file, most)))).flat();
    },
  };
}

/** Reads a file, up to a number of bytes. */
export async function bytesOf(file: ConfinedFile, most: number): Promise<Buffer> {
  return file.size === 0 ? Buffer.alloc(0) : buffer(file.stream(most));
}

export async function* inGroups<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<readonly Item[]> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/**
 * Returns the absolute path in a folder. Links are not resolved, because the target is checked after it is opened. The
 * folder may be a link.
 */
export function placeInside({ given, base }: { readonly given: string; readonly base: string }, path: string): string {
  if (path.includes("\0")) throw new Error("A path may not contain NUL.");
  const place =
    path === given || path.startsWith(given + sep) ? join(base, relative(given, path)) : resolve(base, path);
  if (!within(base, place)) throw outside(path);
  return place;
}

/** Creates missing folders one by one. Each folder is checked before a folder is created in it. */
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

/**
 * Returns a path that leads to the open folder even if somebody replaces the folder. Returns undefined on systems
 * without such paths.
 */
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
  if (before && !before.isFile() && !before.isSymbolicLink()) throw noPlainFile(name);
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

/** The paths are compared with a separator at the end, so that `/data/mem-evil` is not inside `/data/mem`. */
function within(base: string, place: string): boolean {
  return isAbsolute(place) && (place + sep).startsWith(base.endsWith(sep) ? base : base + sep);
}

export const outside = (path: string): Error => new Error(`${path} is outside the folder that this tool may use.`);
export const aFolder = (path: string): Error => new Error(`${path} is a folder.`);
export const noPlainFile = (path: string): Error => new Error(`${path} is not a regular file.`);
export const noFile = (path: string): Error => new Error(`There is no file ${path}.`);
export const behindFile = (path: string): Error => new Error(`There is no ${path}: its folder is a file.`);
export const notOpened = (path: string): Error => new Error(`${path} may not be opened.`);

function problem(error: unknown, path: string): Error {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return noFile(path);
  if (code === "ENOTDIR") return behindFile(path);
  if (code === "EACCES" || code === "EPERM") return notOpened(path);
  if (code === "ENXIO" || code === "ELOOP" || code === "ENAMETOOLONG") return new Error(`${path} cannot be opened.`);
  return error instanceof Error ? error : new Error(String(error));
}
