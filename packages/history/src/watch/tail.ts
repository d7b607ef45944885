import { closeSync, readSync } from "node:fs";
import type { DataFile } from "../model/data-file.ts";
import { forEachLine } from "../scan/line-splitter.ts";
import { parseLine, type ParsedLine } from "../scan/parse-line.ts";
import type { FileDamage } from "../model/types.ts";
import { openPlainFile, readFile } from "../scan/read-file.ts";
import type { WatchEvent } from "./watch-event.ts";

/** Follows the end of one file. */
export interface Tail {
  file(): DataFile;
  /** The lines since the last call. Only complete lines: a line that is still being written is returned later. */
  read(now: DataFile): readonly WatchEvent[];
}

export function createTail(first: DataFile, from: "start" | "end"): Tail {
  let file = first;
  let offset = from === "start" ? 0 : endOfLastLine(first);
  let seenSize = from === "start" ? 0 : first.size;
  // Line numbers are known only for files that were followed from their beginning.
  let line = from === "start" ? 0 : Number.NaN;
  return {
    file: () => file,
    read(now) {
      const isOther = now.inode !== file.inode || now.size < seenSize;
      const hasNews = isOther || now.size > seenSize;
      file = now;
      if (!hasNews) return [];
      seenSize = now.size;
      const events: WatchEvent[] = [];
      if (isOther) {
        events.push({ type: "rewritten", file: now });
        offset = 0;
        line = 0;
      }
      const lines: ParsedLine[] = [];
      const damage: FileDamage[] = [];
      try {
        readFile(now.path, { from: offset, until: now.size }, (region) => {
          if (region.unterminated) return;
          forEachLine(region, (start, end) => {
            line += 1;
            const place = { line: Number.isNaN(line) ? 0 : line, offset: region.offset + (start - region.start) };
            const bytes = region.bytes.subarray(start, end);
            lines.push(...parseLine(bytes, place, (found) => damage.push({ path: now.path, ...found })));
          });
          offset = region.offset + (region.end - region.start);
        });
      } catch {
        // The file was deleted again. The next check reports it.
        return events;
      }
      if (lines.length > 0 || damage.length > 0) events.push({ type: "lines", file: now, lines, damage });
      return events;
    },
  };
}

/** The end of the last whole line, so that a line that is half written now is reported when it is complete. */
function endOfLastLine(file: DataFile): number {
  let fd: number;
  try {
    fd = openPlainFile(file.path);
  } catch {
    return file.size;
  }
  try {
    const bytes = Buffer.allocUnsafe(64 * 1024);
    for (let end = file.size; end > 0; end -= bytes.length) {
      const start = Math.max(0, end - bytes.length);
      const count = readSync(fd, bytes, 0, end - start, start);
      const lineFeed = bytes.subarray(0, count).lastIndexOf(0x0a);
      if (lineFeed >= 0) return start + lineFeed + 1;
    }
    return 0;
  } finally {
    closeSync(fd);
  }
}
