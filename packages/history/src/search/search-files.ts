/**
 * Runs a query over files. It searches the bytes, parses the lines that may match, and searches the text of these
 * lines.
 */
import type { DataFile } from "../model/data-file.ts";
import type { FacetRow, FacetStore } from "../facets/facet.ts";
import { hasOnlyGrown } from "../facets/fold-files.ts";
import { parseLine, type LinePlace, type ParsedLine } from "../scan/parse-line.ts";
import { createPause } from "../scan/pause.ts";
import { createByteSearch, type ByteSearch, type Needle } from "../scan/byte-search.ts";
import { readFile } from "../scan/read-file.ts";
import { damagedLine } from "../sources/claude-code/search/line-texts.ts";
import { bestIn, bestWeight, scoreOf, type LineBest } from "../sources/claude-code/search/best-score.ts";
import { textRangeOf, type TextRange } from "../sources/claude-code/search/text-range.ts";
import { gramsFacet, stretchesIn, wantedOf, type Stretch, type Wanted } from "./grams.ts";
import { lengthOf, type Literal } from "./literal.ts";
import { matchLine, type FoundText, type TextFilter } from "./match-line.ts";
import type { Query } from "./query.ts";

export interface SearchFilesOptions {
  readonly filter: TextFilter;
  readonly context: number;
  readonly since: number;
  readonly until: number;
  readonly store: FacetStore;
  readonly signal?: AbortSignal | undefined;
  /** Decides which matches may still be on the requested page. Without it, the search finds all matches. */
  readonly choice?: Choice;
}

interface Choice {
  /** Whether the search still counts all matches, even if they cannot be on the page. */
  isOpen(): boolean;
  /** Whether a match with this score and time, at this offset of the file or after it, may be on the page. */
  isWorth(score: number, time: number, file: DataFile, offset: number): boolean;
}

export interface FoundLine {
  readonly file: DataFile;
  readonly line: ParsedLine;
  readonly time: number;
  /** False if the line has no time. If so, `time` is the time of the file. */
  readonly hasTime: boolean;
  readonly found: readonly FoundText[];
}

/**
 * Calls `onFound` for matching lines. Without `choice`, it gets all of them in the order of the files. With `choice`,
 * the best places come first, and lines that cannot be on the page may be left out.
 */
export async function searchFiles(
  files: readonly DataFile[],
  query: Query,
  options: SearchFilesOptions,
  onFound: (found: FoundLine) => void,
): Promise<{ readonly isComplete: boolean }> {
  const { choice } = options;
  const search = createByteSearch();
  const literal = rarest(query.literals);
  const needles = literal?.forms.map((form) => search.needle(form));
  const pause = createPause(options.signal);
  const places = placesToSearch(files, query, options.store);
  for (const place of choice ? bestFirst(places) : inOrderOf(files, places)) {
    const { file, stretch } = place;
    // Even the best possible match at this place would not be on the page. The places after it are not better.
    const best = scoreOf(stretch.weight, query);
    if (choice && !choice.isOpen() && !choice.isWorth(best, latestOf(place), file, 0)) break;
    const isWanted = choice && createWorth(place, query, choice);
    searchStretch(file, stretch, { search, needles, isWanted }, (line) => {
      const ownTime = Date.parse(String(line.value["timestamp"]));
      const hasTime = !Number.isNaN(ownTime);
      const time = hasTime ? ownTime : file.mtimeMs;
      if (time < options.since || time >= options.until) return false;
      const found = matchLine(line.value, query, options.filter, options.context);
      if (found.length > 0) onFound({ file, line, time, hasTime, found });
      return found.length > 0;
    });
    await pause();
  }
  return { isComplete: choice?.isOpen() ?? true };
}

interface Place {
  readonly file: DataFile;
  readonly stretch: Stretch;
}

/** Decides which lines of a place are parsed. As long as matches are counted, all lines are parsed. */
function createWorth({ file, stretch }: Place, query: Query, choice: Choice): IsWanted {
  const best: LineBest = { weight: 0, time: 0 };
  return (bytes, start, end, offset) => {
    if (choice.isOpen()) return true;
    bestIn(bytes, start, end, best);
    const time = best.time === Infinity ? file.mtimeMs : best.time;
    return choice.isWorth(scoreOf(Math.min(stretch.weight, best.weight), query), time, file, offset);
  };
}

/**
 * Sorts places by the kind of their best possible match: prompts, answers, the rest. New places come before old places.
 */
function bestFirst(places: readonly Place[]): readonly Place[] {
  return places.toSorted((a, b) => b.stretch.weight - a.stretch.weight || latestOf(b) - latestOf(a));
}

function inOrderOf(files: readonly DataFile[], places: readonly Place[]): readonly Place[] {
  const order = new Map(files.map((file, at) => [file, at]));
  return places.toSorted((a, b) => (order.get(a.file) ?? 0) - (order.get(b.file) ?? 0));
}

/** Returns the latest possible time of a match. Without a time in the index, this is the time of the file. */
function latestOf({ file, stretch }: Place): number {
  return stretch.latest === Infinity ? file.mtimeMs : stretch.latest;
}

/** Finds the parts of the files that may match according to the index. */
function placesToSearch(files: readonly DataFile[], query: Query, store: FacetStore): readonly Place[] {
  const wanted = wantedOf(query.indexed);
  const unindexed = new Map(files.map((file) => [file.path, file]));
  const places: Place[] = [];
  // Of thousands of files, only a few have a part to search. The other files need no object.
  store.each(gramsFacet, (saved) => {
    const file = unindexed.get(saved.path);
    if (!file) return;
    unindexed.delete(saved.path);
    for (const stretch of stretchesOf(file, saved, wanted, store)) places.push({ file, stretch });
  });
  for (const file of unindexed.values()) places.push({ file, stretch: wholeOf(file) });
  return places;
}

/**
 * Finds the parts of a file that may match or are not in the index yet. If the file was rewritten, returns the whole
 * file.
 */
// oxlint-disable-next-line max-params
function stretchesOf(file: DataFile, saved: FacetRow, wanted: Wanted, store: FacetStore): readonly Stretch[] {
  const isSame = saved.size === file.size && saved.mtimeMs === file.mtimeMs && saved.inode === file.inode;
  const changed = isSame ? undefined : store.find(gramsFacet, file.path);
  if (!isSame && !(changed && hasOnlyGrown(file, changed))) return [wholeOf(file)];
  const { stretches, rest } = stretchesIn(saved.data, wanted);
  return rest.from < file.size ? [...stretches, { ...rest, until: file.size }] : stretches;
}

function wholeOf(file: DataFile): Stretch {
  return { from: 0, until: file.size, firstLine: 1, weight: bestWeight, latest: Infinity };
}

/** Whether a line that may match is worth parsing. */
type IsWanted = (bytes: Buffer, start: number, end: number, offset: number) => boolean;

interface Scanner {
  readonly search: ByteSearch;
  /** Every matching line contains at least one of these byte sequences. Undefined if every line must be parsed. */
  readonly needles: readonly Needle[] | undefined;
  readonly isWanted: IsWanted | undefined;
}

/** Returns whether the line matches. */
type OnLine = (line: ParsedLine) => boolean;

const range: TextRange = { from: 0, until: 0 };

function searchStretch(file: DataFile, stretch: Stretch, scanner: Scanner, onLine: OnLine): void {
  try {
    readStretch(file, stretch, scanner, onLine);
  } catch {
    // The file was deleted or is not readable. The search continues with the next file. `verify` reports such files.
  }
}

function readStretch(file: DataFile, stretch: Stretch, scanner: Scanner, onLine: OnLine): void {
  const { search, needles, isWanted } = scanner;
  let line = stretch.firstLine;
  readFile(file.path, { from: stretch.from, until: stretch.until, search }, (region) => {
    const { bytes, end } = region;
    if (region.tooLong) {
      line += 1;
      return;
    }
    let counted = region.start;
    let ranged = -1;
    let at = region.start;
    const nextHit = needles ? createHits(search, needles, end) : (place: number): number => place;
    while (at < end) {
      const hit = nextHit(at);
      if (hit < 0) break;
      const start = bytes.lastIndexOf(0x0a, hit === at ? hit - 1 : hit) + 1;
      const lineStart = hit === at && needles === undefined ? at : start;
      let lineEnd = bytes.indexOf(0x0a, hit);
      if (lineEnd < 0 || lineEnd > end) lineEnd = end;
      if (lineStart !== ranged) textRangeOf(bytes, lineStart, lineEnd, range);
      ranged = lineStart;
      if (needles !== undefined && hit < range.from) {
        at = range.from;
        continue;
      }
      at = lineEnd + 1;
      if (hit >= range.until) continue;
      const offset = region.offset + (lineStart - region.start);
      if (isWanted && !isWanted(bytes, lineStart, lineEnd, offset)) continue;
      line += countLines(bytes, counted, lineStart);
      counted = lineStart;
      searchLine(bytes.subarray(lineStart, lineEnd), { line, offset }, onLine);
    }
    // The lines are counted only if another region follows.
    if (region.offset + (end - region.start) < stretch.until) line += countLines(bytes, counted, end);
  });
}

/** Searches the records of a line. If no record matches and the line is damaged, searches the text of the line. */
function searchLine(bytes: Buffer, place: LinePlace, onLine: OnLine): void {
  let text: string | undefined;
  let isFound = false;
  for (const record of parseLine(bytes, place, (damage) => (text = damage.text))) isFound = onLine(record) || isFound;
  if (isFound || text === undefined) return;
  onLine({ line: place.line, offset: place.offset, length: bytes.length, value: { type: damagedLine, text } });
}

function countLines(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(0x0a, start); at >= 0 && at < end; at = bytes.indexOf(0x0a, at + 1)) count += 1;
  return count;
}

/** Makes a function that finds the next place of any needle. It keeps found places until `at` passes them. */
function createHits(search: ByteSearch, needles: readonly Needle[], end: number): (at: number) => number {
  const [first, escaped, ...others] = needles;
  if (first && escaped && others.length === 0) return (at) => search.findForeign([first, escaped], at, end);
  if (first && !escaped) return (at) => search.find(first, at, end);
  const places = needles.map(() => -2);
  return (at) => {
    let next = -1;
    for (const [which, needle] of needles.entries()) {
      let place = places[which] ?? -2;
      if (place !== -1 && place < at) place = places[which] = search.find(needle, at, end);
      if (place >= 0 && (next < 0 || place < next)) next = place;
    }
    return next;
  };
}

/** Returns the longest literal, because it is usually the rarest literal. */
function rarest(literals: readonly Literal[]): Literal | undefined {
  return literals.toSorted((a, b) => lengthOf(b) - lengthOf(a))[0];
}
