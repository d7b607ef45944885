import type { LibraryConfig } from "../config.ts";
import type { SkippedFile } from "../model/data-file.ts";
import { chosenFiles } from "../list/chosen-files.ts";
import type { FileDamage } from "../model/types.ts";
import { createPause } from "../scan/pause.ts";
import { readLines } from "../scan/read-lines.ts";

export interface VerifyReport {
  readonly files: number;
  readonly lines: number;
  readonly bytes: number;
  /** All damage, with file and line. */
  readonly damage: readonly FileDamage[];
  /** Files that are not read, and why. */
  readonly skipped: readonly SkippedFile[];
}

/** Reads every line of every transcript, or of those that `workspace`, `since` and `until` choose, and reports all damage. Nothing is repaired, because the files belong to Claude Code. */
export async function verify(config: LibraryConfig = {}): Promise<VerifyReport> {
  const { files, skipped } = await chosenFiles(config);
  const pause = createPause(config.signal);
  const damage: FileDamage[] = [];
  let lines = 0;
  let bytes = 0;
  for (const { path, size } of files) {
    readLines(path, {
      line: () => (lines += 1),
      damage: ({ line, kind, message }) => damage.push({ path, line, kind, message }),
    });
    bytes += size;
    await pause();
  }
  return { files: files.length, lines, bytes, damage, skipped };
}
