import { type Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/** How many entries a walk reads before it gives up, so that a huge tree cannot block a step for ever. */
export const ENTRIES = 200_000;
/** Folders that are skipped unless the path or the pattern names them. */
const PASSED_OVER = new Set([".git", "node_modules"]);

export const TOO_MANY_FILES = `[The folder has more than ${ENTRIES} entries; not all were looked at. Name a folder inside it.]`;

export interface WalkOptions {
  /** Whether to include `.git` and `node_modules`. */
  readonly everywhere: boolean;
  readonly signal: AbortSignal;
  /** `cut` is set if there are more entries than were read. */
  readonly walked: { cut: boolean };
}

/** Yields the plain files in a folder, as relative paths with `/`. Links are neither followed nor listed. */
export async function* walkFolder(place: string, { everywhere, signal, walked }: WalkOptions): AsyncGenerator<string> {
  const folders = [place];
  let looked = 0;
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    signal.throwIfAborted();
    const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (++looked > ENTRIES) {
        walked.cut = true;
        return;
      }
      const path = join(folder, entry.name);
      if (entry.isDirectory() && (everywhere || !PASSED_OVER.has(entry.name))) folders.push(path);
      if (entry.isFile()) yield relative(place, path).split(sep).join("/");
    }
  }
}
