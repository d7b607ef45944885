import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { discover } from "@skein/history/discover";
import { type CopyPlace, copyPlace } from "./copy-place.ts";

interface CopyStatus {
  readonly file: string;
  /** Null if there is no copy. */
  readonly size: number | null;
  readonly madeAt: Date | null;
}

interface CopyOf {
  readonly roots?: readonly string[];
  /** Skein's cache folder. */
  readonly cacheFolder: string;
}

/** Where the copy of some data directories is, and whether it exists. */
export function copyStatus(of: CopyOf): CopyStatus {
  const { file } = placeOf(of);
  const stat = statSync(file, { throwIfNoEntry: false });
  return { file, size: stat?.size ?? null, madeAt: stat ? stat.mtime : null };
}

/** Removes the copies of some data directories, also those of other versions. Returns the paths that were removed. */
export function removeCopy(of: CopyOf): readonly string[] {
  const { folder, file } = placeOf(of);
  const [, data] = basename(file).split("-");
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const paths = names.filter((name) => name.startsWith(`copy-${data}-`)).map((name) => join(folder, name));
  for (const path of paths) rmSync(path, { force: true });
  return paths;
}

function placeOf({ roots, cacheFolder }: CopyOf): CopyPlace {
  const library = roots === undefined ? {} : { dataPath: roots };
  return copyPlace(join(cacheFolder, "sql"), discover(library).roots);
}
