import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeadOwner, thisOwner } from "../../../engines/owner.ts";

/** Arguments that may contain secrets. Their value can also be the name of a file. */
const HIDDEN = ["--mcp-config", "--settings"];

export interface HiddenArguments {
  readonly args: readonly string[];
  /** The files with the hidden values. */
  readonly files: readonly string[];
  remove(): void;
}

/**
 * Moves the secrets in a child's arguments to files that only this user can read. Every user of the machine can read
 * arguments of processes. The SDK passes headers and environments of MCP servers as arguments.
 */
export function hideArguments(args: readonly string[], folder: string): HiddenArguments {
  let made: string | undefined;
  const files: string[] = [];
  const fileWith = (text: string, flag: string): string => {
    made ??= newFolder(folder);
    const file = join(made, `${flag.slice(2)}.json`);
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
    files.push(file);
    return file;
  };
  const hidden = args.map((arg, index) => {
    const before = args[index - 1] ?? "";
    if (HIDDEN.includes(before) && arg.trimStart().startsWith("{")) return fileWith(arg, before);
    const [, flag, text] = /^(--[a-z-]+)=(\s*\{.*)$/s.exec(arg) ?? [];
    return flag !== undefined && text !== undefined && HIDDEN.includes(flag) ? `${flag}=${fileWith(text, flag)}` : arg;
  });
  return {
    args: hidden,
    files,
    remove() {
      if (made === undefined) return;
      rmSync(made, { recursive: true, force: true });
      removeEmpty(folder);
    },
  };
}

/**
 * The largest number of attempts to create a folder, because another process may remove the empty folder at the same
 * moment.
 */
const ATTEMPTS = 10;

function newFolder(parent: string): string {
  for (let attempt = 1; ; attempt++)
    try {
      makeOwn(parent);
      return mkdtempSync(join(parent, `${encodeURIComponent(thisOwner())}-`));
    } catch (error) {
      if (attempt === ATTEMPTS || (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
}

/** Removes a folder if it is empty. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The folder may have a file of another child, or may already be removed.
  }
}

/** Creates a folder that no other user can read. Rejects an existing folder that another user owns or can read. */
function makeOwn(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const found = lstatSync(folder);
  const isOwn = found.uid === (process.getuid?.() ?? found.uid) && (found.mode & 0o077) === 0;
  if (!isOwn || !found.isDirectory())
    throw new Error(`${folder} must be a folder that only this user can read (0700). Remove it and try again.`);
}

/** Removes files of killed processes from the folder. If the folder is then empty, removes it. */
export function sweepHidden(folder: string): void {
  const left = namesIn(folder).filter((name) => isDeadOwner(decodeURIComponent(name.slice(0, name.lastIndexOf("-")))));
  for (const name of left) rmSync(join(folder, name), { recursive: true, force: true });
  if (left.length > 0) removeEmpty(folder);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // If the folder does not exist, no arguments were stored.
    return [];
  }
}
