import type { LibraryConfig } from "../config.ts";
import type { SkippedFile } from "../model/data-file.ts";
import { chosenFiles } from "../list/chosen-files.ts";
import type { FileDamage } from "../model/types.ts";
import { createPause } from "../scan/pause.ts";
import { aboutDamage } from "../sources/port/about-damage.ts";
import { loadState } from "../sources/mirror/mirror-state.ts";
import { markOf } from "../sources/mirror/source-of-root.ts";
import { readTranscriptRecords } from "../sources/claude-code/transcript/transcript-records.ts";

export interface VerifyReport {
  readonly files: number;
  readonly lines: number;
  readonly bytes: number;
  /** All damage, with file and line. */
  readonly damage: readonly FileDamage[];
  /** Files that are not read, and why. */
  readonly skipped: readonly SkippedFile[];
}

/**
 * Reads every line of the transcripts that `workspace`, `since` and `until` choose, and reports all damage. Repairs
 * nothing, because the files do not belong to Skein.
 */
export async function verify(config: LibraryConfig = {}): Promise<VerifyReport> {
  const { files, skipped } = await chosenFiles(config);
  const pause = createPause(config.signal);
  const damage: FileDamage[] = [];
  let lines = 0;
  let bytes = 0;
  for (const { path, size, root } of files) {
    const original = originalPath(root, path);
    readTranscriptRecords(path, {
      line: () => (lines += 1),
      damage: ({ line, kind, message, text }) =>
        damage.push({
          path,
          line,
          kind,
          message: original === undefined ? message : aboutOriginal(original, message, text),
        }),
    });
    bytes += size;
    await pause();
  }
  return { files: files.length, lines, bytes, damage, skipped };
}

/** Returns the file or database from which the lines were translated. Returns undefined for files of Claude Code. */
function originalPath(root: string, path: string): string | undefined {
  const mark = markOf(root);
  if (!mark) return undefined;
  const place = path.slice(root.length + 1);
  return Object.values(loadState(root, mark.source, mark.root).units).find((unit) => unit.place === place)?.path;
}

/** Describes damage without the damaged text, because the text may be secret. */
function aboutOriginal(original: string, message: string, text?: string): string {
  const sentence = text?.startsWith(aboutDamage) ? text.slice(aboutDamage.length).trim() : message;
  return `${sentence} (translated from ${original})`;
}
