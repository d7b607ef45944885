import { closeSync } from "node:fs";
import type { DataFile } from "../model/data-file.ts";
import { endOfLastLine } from "../scan/last-line.ts";
import { forEachLine } from "../scan/line-splitter.ts";
import { parseLine, type ParsedLine } from "../scan/parse-line.ts";
import type { FileDamage } from "../model/types.ts";
import { openPlainFile, readFile } from "../scan/read-file.ts";
import { sourceOfRoot } from "../sources/mirror/source-of-root.ts";
import { createLastLines, readLastLines, type LastLines } from "./last-lines.ts";
import type { WatchEvent } from "./watch-event.ts";

/** Follows the end of one file. */
export interface Tail {
  file(): DataFile;
  /** Returns the complete lines since the last call. A line that is still being written is returned later. */
  read(now: DataFile): readonly WatchEvent[];
}

export function createTail(first: DataFile, from: "start" | "end"): Tail {
  const source = sourceOfRoot(first.root);
  const recent = createLastLines();
  let file = first;
  let offset = from === "start" ? 0 : endOfFile(first, recent);
  let seenSize = from === "start" ? 0 : first.size;
  // Line numbers are known only if the file was followed from its beginning.
  let line = from === "start" ? 0 : Number.NaN;
  /**
   * Continues after the last remembered line that is still at its position. If all lines moved, starts at the beginning
   * and returns false.
   */
  const goBack = (path: string): boolean => {
    const kept = recent.findIn(path);
    offset = kept?.end ?? 0;
    line = kept ? line - kept.dropped : 0;
    return kept !== undefined;
  };
  return {
    file: () => file,
    read(now) {
      // If the file is shorter than its complete lines, it was replaced. An unfinished line at the end may become
      // shorter.
      const isOther = now.inode !== file.inode || now.size < offset;
      const hasNews = isOther || now.size !== seenSize;
      file = now;
      if (!hasNews) return [];
      // Until the file was read, every check has news.
      seenSize = Number.NaN;
      const events: WatchEvent[] = [];
      if (isOther && !goBack(now.path)) events.push({ type: "rewritten", source, file: now });
      const lines: ParsedLine[] = [];
      const damage: FileDamage[] = [];
      try {
        readFile(now.path, { from: offset, until: now.size }, (region) => {
          if (region.unterminated) return;
          forEachLine(region, (start, end) => {
            line += 1;
            const position = region.offset + (start - region.start);
            const next = region.bytes.indexOf(0x0a, end) + 1 || region.end;
            if (!recent.add(position, region.bytes.subarray(start, next))) return;
            const place = { line: Number.isNaN(line) ? 0 : line, offset: position };
            const bytes = region.bytes.subarray(start, end);
            lines.push(...parseLine(bytes, place, (found) => damage.push({ path: now.path, ...found })));
          });
          offset = region.offset + (region.end - region.start);
        });
        seenSize = now.size;
      } catch {
        // The file was deleted, which the next check reports. Any other file is read again at the next check.
      }
      if (lines.length > 0 || damage.length > 0) events.push({ type: "lines", source, file: now, lines, damage });
      return events;
    },
  };
}

/**
 * Returns where following begins, which is the end of the last complete line. An incomplete line is reported when it is
 * complete.
 */
function endOfFile({ path, size }: DataFile, recent: LastLines): number {
  let fd: number;
  try {
    fd = openPlainFile(path);
  } catch {
    return size;
  }
  try {
    return readLastLines(fd, size, recent) || endOfLastLine(fd, size);
  } finally {
    closeSync(fd);
  }
}
