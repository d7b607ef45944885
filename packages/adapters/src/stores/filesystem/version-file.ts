import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { KnownError } from "@skein/protocol";
import { makeFolder, replaceFile, syncFolder } from "./durable-files.ts";

/** Increase this number when the previous version of Skein cannot read new folders. */
const VERSION = 1;

/** File names that an empty folder may contain. A folder with other files is rejected. */
const HARMLESS: ReadonlySet<string> = new Set(["lock", "lost+found"]);

/** Rejects a folder of a newer version and a folder with unknown files. Makes an empty folder a store. */
export async function openFolder(folder: string): Promise<void> {
  if (!isStoreFolder(folder)) {
    await replaceFile(join(folder, "version"), `${VERSION}\n`, true);
    await syncFolder(join(folder, ".."));
    makeFolder(join(folder, "log"));
    await syncFolder(folder);
    return;
  }
  makeFolder(join(folder, "log"));
}

/** Returns whether the folder is a store. Returns false for an empty folder, and rejects a folder that cannot be one. */
export function isStoreFolder(folder: string): boolean {
  const text = readVersion(join(folder, "version"));
  if (text === undefined) {
    if (readdirSync(folder).some((name) => !HARMLESS.has(name) && !name.startsWith(".version.")))
      throw new KnownError(
        "invalid",
        "The folder is not empty and holds no Skein store. Name an empty folder, or one that does not exist yet.",
      );
    return false;
  }
  const version = Number(text);
  if (!/^\d+\n?$/.test(text) || version < 1)
    throw new KnownError("store_corrupt", `The file "version" says "${text.trim().slice(0, 40)}" instead of a number.`);
  if (version > VERSION)
    throw new KnownError(
      "store_too_new",
      `The folder was written by a newer Skein (version ${version}); this Skein reads only folders up to version ${VERSION}. Update Skein.`,
    );
  return true;
}

function readVersion(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
