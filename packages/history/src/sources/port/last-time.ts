import { closeSync, fstatSync, readSync } from "node:fs";
import { openPlainFile } from "../../scan/read-file.ts";

/**
 * The number of bytes that are read first. They contain most last lines. If a line has a large result, its time may
 * come before the result.
 */
const tailBytes = 4096;
const mostBytes = 16 * 1024 * 1024;
const tail = Buffer.allocUnsafeSlow(tailBytes);
const time =
  /"(?:timestamp|time|lastUpdated|sentAt|updated)"\s*:\s*(?:"(\d{4}-\d\d-\d\dT[^"]{1,20})"|(\d{10,16}(?:\.\d+)?))/g;

/**
 * Returns the last time in a `.json` or `.jsonl` file. Returns undefined if the last 16 MiB contain no time, or if the
 * file cannot be opened.
 */
export function lastTimeIn(path: string): number | undefined {
  if (!/\.jsonl?$/.test(path)) return undefined;
  let fd: number;
  try {
    fd = openPlainFile(path);
  } catch {
    return undefined;
  }
  try {
    const { size } = fstatSync(fd);
    for (let bytes = tailBytes; ; bytes *= 16) {
      const piece = bytes === tailBytes ? tail : Buffer.allocUnsafe(Math.min(bytes, size));
      const count = readSync(fd, piece, 0, piece.length, Math.max(0, size - piece.length));
      const found = lastTimeOf(piece.toString("latin1", 0, count));
      if (found !== undefined || bytes >= size || bytes >= mostBytes) return found;
    }
  } finally {
    closeSync(fd);
  }
}

function lastTimeOf(text: string): number | undefined {
  let last: number | undefined;
  for (const [, date, number] of text.matchAll(time)) {
    const found = date === undefined ? inMilliseconds(Number(number)) : Date.parse(date);
    if (!Number.isNaN(found)) last = found;
  }
  return last;
}

function inMilliseconds(time: number): number {
  return time < 1e11 ? time * 1000 : time;
}
