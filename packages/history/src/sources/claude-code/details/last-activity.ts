import { closeSync, readSync } from "node:fs";
import type { DataFile } from "../../../model/data-file.ts";
import { findTimestamp, newPeek, peekLine } from "../format/peek-line.ts";
import { openPlainFile } from "../../../scan/read-file.ts";

const peek = newPeek();
const firstTry = 16 * 1024;
/** One buffer for all files, because hundreds of files are read one after the other. */
const shared = Buffer.allocUnsafeSlow(firstTry);

/** Finds the time of the last message that has a time. So a list can be ordered without reading whole files. */
export function lastMessageTime(file: DataFile): number | undefined {
  if (file.size === 0) return undefined;
  let fd: number;
  try {
    fd = openPlainFile(file.path);
  } catch {
    return undefined;
  }
  try {
    for (let bytes = firstTry; ; bytes *= 16) {
      const start = Math.max(0, file.size - bytes);
      const length = file.size - start;
      const tail = length <= shared.length ? shared : Buffer.allocUnsafe(length);
      const count = readSync(fd, tail, 0, length, start);
      const found = newestTime(tail.subarray(0, count), start > 0);
      if (found !== undefined) return found;
      // The last 64 MiB have no time.
      if (start === 0 || bytes > 16 * 1024 * 1024) return undefined;
    }
  } finally {
    closeSync(fd);
  }
}

function newestTime(tail: Buffer, isCut: boolean): number | undefined {
  const begin = isCut ? tail.indexOf(0x0a) + 1 : 0;
  let end = tail.length;
  while (end > begin) {
    const start = Math.max(begin, tail.lastIndexOf(0x0a, end - 1) + 1);
    if (end - start > 1 && peekLine(tail, start, end, peek) && isConversation(tail)) {
      const text =
        peek.timestampStart < 0
          ? findTimestamp(tail, start, end)
          : tail.toString("latin1", peek.timestampStart, peek.timestampEnd);
      const time = text === undefined ? Number.NaN : Date.parse(text);
      if (!Number.isNaN(time)) return time;
    }
    end = start - 1;
  }
  return undefined;
}

/** Whether a line belongs to the conversation. Queue operations and snapshots do not, although they have times. */
function isConversation(bytes: Buffer): boolean {
  const length = peek.typeEnd - peek.typeStart;
  const first = bytes[peek.typeStart];
  if (first === 0x75) return length === 4;
  if (first === 0x61) return length === 9 || length === 10;
  return (first === 0x73 && length === 6) || (first === 0x70 && length === 8);
}
