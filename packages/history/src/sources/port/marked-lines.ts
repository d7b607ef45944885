/** Finds the few lines of a file that matter without parsing the others. */
import { createByteSearch, type ByteSearch, type Needle } from "../../scan/byte-search.ts";
import type { Region } from "../../scan/line-splitter.ts";
import { readFile } from "../../scan/read-file.ts";

interface Marks {
  readonly search: ByteSearch;
  readonly needles: readonly Needle[];
}

const prepared = new Map<readonly string[], Marks>();

function prepare(texts: readonly string[]): Marks {
  const known = prepared.get(texts);
  if (known) return known;
  const search = createByteSearch();
  const made = { search, needles: texts.map((text) => search.needle(Buffer.from(text))) };
  prepared.set(texts, made);
  return made;
}

/** Calls back for the first line of a file, and for each line with one of the texts, in either case. */
export function eachMarkedLine(
  path: string,
  texts: readonly string[],
  onLine: (bytes: Buffer, offset: number) => void,
): void {
  const { search, needles } = prepare(texts);
  readFile(path, { search }, (region) => {
    if (!region.tooLong) linesIn(region, { search, needles }, onLine);
  });
}

function linesIn(region: Region, { search, needles }: Marks, onLine: (bytes: Buffer, offset: number) => void): void {
  const { bytes, start: first, end } = region;
  const next = needles.map(() => first - 1);
  let at = first;
  for (;;) {
    let hit = region.offset === 0 && at === first ? first : end;
    for (const [which, needle] of needles.entries()) {
      let found = next[which] ?? end;
      if (found < at) {
        found = search.find(needle, at, end);
        if (found < 0) found = end;
        next[which] = found;
      }
      if (found < hit) hit = found;
    }
    if (hit >= end) return;
    const start = hit === at ? at : Math.max(at, bytes.lastIndexOf(0x0a, hit) + 1);
    const lineFeed = bytes.indexOf(0x0a, hit);
    const stop = lineFeed < 0 || lineFeed > end ? end : lineFeed;
    // A copy: whoever gets the line may read another file into the same memory.
    onLine(Buffer.from(bytes.subarray(start, stop)), region.offset + (start - first));
    at = stop + 1;
  }
}
