import { closeSync, fstatSync, readSync } from "node:fs";
import { openPlainFile } from "../../scan/read-file.ts";

const tailBytes = 4096;
const tail = Buffer.allocUnsafeSlow(tailBytes);
const time =
  /"(?:timestamp|time|lastUpdated|sentAt|updated)"\s*:\s*(?:"(\d{4}-\d\d-\d\dT[^"]{1,20})"|(\d{10,16}(?:\.\d+)?))/g;

/** The last time at the end of a file of lines or a document; undefined if there is none, or no such file. */
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
    const count = readSync(fd, tail, 0, tailBytes, Math.max(0, size - tailBytes));
    let last: number | undefined;
    for (const [, text, number] of tail.toString("latin1", 0, count).matchAll(time)) {
      const found = text === undefined ? inMilliseconds(Number(number)) : Date.parse(text);
      if (!Number.isNaN(found)) last = found;
    }
    return last;
  } finally {
    closeSync(fd);
  }
}

function inMilliseconds(time: number): number {
  return time < 1e11 ? time * 1000 : time;
}
