import type { LibraryConfig } from "../config.ts";
import type { SkippedFile } from "../model/data-file.ts";
import { discover } from "../sources/claude-code/discover/discover.ts";
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

/** Reads every line of every transcript and reports all damage. Nothing is repaired, because the files belong to Claude Code. */
export async function verify(config: LibraryConfig = {}): Promise<VerifyReport> {
  const { files, skipped } = discover(config);
  const pause = createPause(config.signal);
  const damage: FileDamage[] = [];
  let lines = 0;
  let bytes = 0;
  for (const { path, size } of files) {
    readLines(path, { line: () => (lines += 1), damage: (found) => damage.push({ path, ...found }) });
    bytes += size;
    await pause();
  }
  return { files: files.length, lines, bytes, damage, skipped };
}
