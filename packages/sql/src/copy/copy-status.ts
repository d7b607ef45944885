import { readdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { discover } from "@skein/history/discover";
import { type CopyPlace, copyPlace } from "./copy-place.ts";

interface CopyStatus {
  readonly file: string;
  /** The size of the copy, or null if the copy does not exist. */
  readonly size: number | null;
  readonly madeAt: Date | null;
}

interface CopyOf {
  readonly roots?: readonly string[];
  readonly cacheFolder: string;
}

/** Returns the path of the copy of some data directories, and whether the copy exists. */
export function copyStatus(of: CopyOf): CopyStatus {
  const { file } = placeOf(of);
  const stat = statSync(file, { throwIfNoEntry: false });
  return { file, size: stat?.size ?? null, madeAt: stat ? stat.mtime : null };
}

/** Removes the copies of some data directories, even copies of other versions. Returns the removed paths. */
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
