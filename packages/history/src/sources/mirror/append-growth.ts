import { closeSync, openSync, readSync, rmSync, statSync, writeSync } from "node:fs";

const blockBytes = 256 * 1024;

/**
 * If `target` is the beginning of `staged`, appends the rest to it and removes `staged`. The file then stays the same file
 * for followers and for the index. Returns false if it was not the beginning.
 */
export function appendGrowth(staged: string, target: string): boolean {
  const old = statSync(target, { throwIfNoEntry: false })?.size;
  if (old === undefined || old > statSync(staged).size) return false;
  const [from, to] = [openSync(staged, "r"), openSync(target, "r+")];
  try {
    if (!isBeginning(from, to, old)) return false;
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
