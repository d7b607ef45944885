import { readdirSync, type Dirent } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../disk/durable-files.ts";

/**
 * Lists the archived files below a folder, as paths relative to the data directory. In the archive, each file is a
 * folder with its pieces.
 */
export function archivedFiles(folder: string, below = ""): readonly string[] {
  return walk(folder, below, () => new Map());
}

/** Lists the archived files that no longer exist in the data directory. */
export function goneFiles(folder: string, root: string): readonly string[] {
  return walk(folder, "", (at) => new Map(entriesOf(join(root, at)).map((entry) => [entry.name, entry])));
}

function walk(folder: string, below: string, liveIn: (at: string) => ReadonlyMap<string, Dirent>): readonly string[] {
  const found: string[] = [];
  const open = [below];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const entries = entriesOf(join(folder, at));
    if (entries.some(({ name }) => /^g\d{4}-\d{15}-\d{15}\.zst$/.test(name))) {
      found.push(at);
      continue;
    }
    const live = liveIn(at);
    for (const entry of entries) {
      const now = live.get(entry.name);
      if (entry.isDirectory() && (!now || now.isDirectory())) open.push(join(at, entry.name));
    }
  }
  return found.sort();
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
    throw error;
  }
}
