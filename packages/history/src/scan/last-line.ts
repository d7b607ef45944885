import { readSync } from "node:fs";

const blockBytes = 64 * 1024;

/** Finds the end of the last whole line of a file. The bytes after it have no line feed yet. */
export function endOfLastLine(fd: number, size: number): number {
  const bytes = Buffer.allocUnsafe(blockBytes);
  for (let end = size; end > 0; end -= blockBytes) {
    const start = Math.max(0, end - blockBytes);
    const count = readSync(fd, bytes, 0, end - start, start);
    const lineFeed = bytes.subarray(0, count).lastIndexOf(0x0a);
    if (lineFeed >= 0) return start + lineFeed + 1;
  }
  return 0;
}
