import { closeSync, ftruncateSync, openSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { endOfLastLine } from "../../scan/last-line.ts";

const blockBytes = 256 * 1024;

/**
 * Appends new lines of `staged` to `target` and removes `staged`. Returns false and changes nothing if `target` does
 * not exist, or if `staged` does not begin with the complete lines of `target`.
 *
 * `target` keeps its inode, so the index, and readers that follow the file, do not begin again.
 */
export function appendGrowth(staged: string, target: string): boolean {
  const size = statSync(target, { throwIfNoEntry: false })?.size;
  if (size === undefined) return false;
  const [from, to] = [openSync(staged, "r"), openSync(target, "r+")];
  try {
    const old = endOfLastLine(to, size);
    if (old > statSync(staged).size || !isBeginning(from, to, old)) return false;
    if (old < size) ftruncateSync(to, old);
    const bytes = Buffer.allocUnsafe(blockBytes);
    for (let at = old; ;) {
      const count = readSync(from, bytes, 0, blockBytes, at);
      if (count === 0) break;
      writeSync(to, bytes, 0, count, at);
      at += count;
    }
  } finally {
    closeSync(from);
    closeSync(to);
  }
  rmSync(staged, { force: true });
  return true;
}

function isBeginning(one: number, other: number, length: number): boolean {
  const [a, b] = [Buffer.allocUnsafe(blockBytes), Buffer.allocUnsafe(blockBytes)];
  for (let at = 0; at < length;) {
    const wanted = Math.min(blockBytes, length - at);
    const count = readSync(one, a, 0, wanted, at);
    if (count !== readSync(other, b, 0, wanted, at) || count === 0) return false;
    if (a.compare(b, 0, count, 0, count) !== 0) return false;
    at += count;
  }
  return true;
}
