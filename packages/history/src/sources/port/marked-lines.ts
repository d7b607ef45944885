/** Finds lines with certain texts, without parsing the other lines of a file. */
import { createByteSearch, type ByteSearch, type Needle } from "../../scan/byte-search.ts";
import { forEachLine, type Region } from "../../scan/line-splitter.ts";
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

interface MarkedOptions {
  readonly marks: readonly string[];
  readonly needsAll?: (() => boolean) | undefined;
}

type OnMarked = (bytes: Buffer, offset: number) => void;

/**
 * Calls `onLine` for the first line of a file, and for each line with one of the texts, in upper or lower case. The
 * bytes are valid only during the call.
 */
export function eachMarkedLine(path: string, { marks: texts, needsAll }: MarkedOptions, onLine: OnMarked): void {
  const marks = prepare(texts);
  let isWhole = false;
  readFile(path, { search: marks.search }, (region) => {
    if (region.tooLong) return;
    if (isWhole) everyLine(region, onLine);
    else
      linesIn(region, marks, (bytes, offset) => {
        onLine(bytes, offset);
        if (offset > 0 || !needsAll?.()) return true;
        isWhole = true;
        everyLine({ ...region, start: bytes.length + 1, offset: bytes.length + 1 }, onLine);
        return false;
      });
  });
}

function everyLine(region: Region, onLine: OnMarked): void {
  forEachLine(region, (start, end) =>
    onLine(region.bytes.subarray(start, end), region.offset + (start - region.start)),
  );
}

function linesIn(region: Region, { search, needles }: Marks, onLine: (...line: Parameters<OnMarked>) => boolean): void {
  const { bytes, start: first, end } = region;
  const places = needles.map((needle) => ({ needle, next: first - 1 }));
  let at = first;
  for (;;) {
    let hit = region.offset === 0 && at === first ? first : end;
    for (const place of places) {
      if (place.next < at) {
        const found = search.find(place.needle, at, end);
        place.next = found < 0 ? end : found;
      }
      if (place.next < hit) hit = place.next;
    }
    if (hit >= end) return;
    const start = hit === at ? at : Math.max(at, bytes.lastIndexOf(0x0a, hit) + 1);
    const lineFeed = bytes.indexOf(0x0a, hit);
    const stop = lineFeed < 0 || lineFeed > end ? end : lineFeed;
    if (!onLine(bytes.subarray(start, stop), region.offset + (start - first))) return;
    at = stop + 1;
  }
}
