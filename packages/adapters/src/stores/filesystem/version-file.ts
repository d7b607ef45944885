import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { KnownError } from "@skein/protocol";
import { makeFolder, replaceFile, syncFolder } from "./durable-files.ts";

/** Raised when a folder that this Skein writes can no longer be read by the one before. */
const VERSION = 1;

/** What may be in a folder that becomes a store. A folder with other files belongs to somebody else and is rejected. */
const HARMLESS: ReadonlySet<string> = new Set(["lock", "lost+found"]);

/** Refuses a folder that a newer Skein wrote, or that holds something else; makes an empty one a store. */
export async function openFolder(folder: string): Promise<void> {
  const path = join(folder, "version");
  const text = readVersion(path);
  if (text === undefined) {
    if (readdirSync(folder).some((name) => !HARMLESS.has(name) && !name.startsWith(".version.")))
      throw new KnownError(
        "invalid",
        "The folder is not empty and holds no Skein store. Name an empty one, or one that is not there yet.",
      );
    await replaceFile(path, `${VERSION}\n`, true);
    await syncFolder(join(folder, ".."));
    makeFolder(join(folder, "log"));
    await syncFolder(folder);
    return;
  }
  const version = Number(text);
  if (!/^\d+\n?$/.test(text) || version < 1)
    throw new KnownError("store_corrupt", `The file "version" says "${text.trim().slice(0, 40)}" instead of a number.`);
  if (version > VERSION)
    throw new KnownError(
      "store_too_new",
      `The folder was written by a newer Skein (version ${version}); this one reads up to ${VERSION}.`,
    );
  makeFolder(join(folder, "log"));
}

function readVersion(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
