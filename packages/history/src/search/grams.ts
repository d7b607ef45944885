/**
 * Bitmaps of the byte sequences in each segment of a file (about 64 KiB of whole lines). With them, a search skips
 * segments without a match, and begins with the segments that may have the best matches. A bitmap contains the texts of
 * one class, such as prompts, in lower case. Reasons: decision 190 in docs/decisions.
 */
import type { Facet } from "../facets/facet.ts";
import { damagedLine, textsOf, type LineText } from "../sources/claude-code/search/line-texts.ts";
import { forEachLine, type Region } from "../scan/line-splitter.ts";
import { parseLine } from "../scan/parse-line.ts";
import type { Value } from "../model/value.ts";
import { bitmapOf, gramsIn, hasAll } from "./bitmap.ts";
import { weights } from "./match-line.ts";

interface Segment {
  /** The segment has the bytes `[start, end)` of the file, which are whole lines. */
  readonly start: number;
  end: number;
  readonly firstLine: number;
  lines: number;
  /** A bitmap for each class of texts. */
  readonly bits: Uint8Array[];
  /** The time of the latest line for each class of texts; Infinity if a line of the class has no time. */
  readonly latest: number[];
}

interface Grams {
  readonly segments: Segment[];
}

/** The class of each kind of text. `classWeights` has the weight of the best kind in each class. */
const classes: Readonly<Record<LineText["kind"], number>> = {
  prompt: 0,
  text: 1,
  tool_use: 2,
  thinking: 2,
  tool_result: 3,
  other: 3,
};
const classWeights = [weights.prompt, weights.text, weights.tool_use, weights.tool_result];
/**
 * The largest share of set bits for each class. The bitmaps of prompts and answers are larger, because a search for a
 * frequent word reads every segment whose prompts or answers may contain the word.
 */
const fullest = [0.15, 0.25, 0.36, 0.36];

/**
 * The size of a segment. With larger segments, more bytes are read for a rare word. With smaller segments, the index
 * grows.
 */
const segmentBytes = 64 * 1024;
const headerBytes = 8 * (4 + 2 * classWeights.length);

export const gramsFacet: Facet<Grams> = {
  name: "grams",
  version: 5,
  start: () => ({ segments: [] }),
  fold(state, region) {
    const { bytes, start, end, offset } = region;
    for (let at = start; at < end;) {
      const piece = pieceEnd(bytes, at, end);
      foldPiece(state, { bytes, start: at, end: piece, offset: offset + (at - start) });
      at = piece;
    }
  },
  encode(state) {
    const header = Buffer.alloc(8 + state.segments.length * headerBytes);
    const numbers = state.segments.flatMap(({ start, end, firstLine, lines, bits, latest }) => [
      start,
      end,
      firstLine,
      lines,
      ...bits.map(({ length }) => length),
      ...latest,
    ]);
    [state.segments.length, ...numbers].forEach((number, at) => header.writeDoubleLE(number, at * 8));
    return Buffer.concat([header, ...state.segments.flatMap(({ bits }) => bits)]);
  },
  decode: (data) => ({ segments: [...segmentsIn(data)] }),
};

function* segmentsIn(data: Uint8Array): Generator<Segment> {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const count = view.getFloat64(0, true);
  let bitsAt = 8 + count * headerBytes;
  for (let at = 8; at < 8 + count * headerBytes; at += headerBytes) {
    const number = (place: number): number => view.getFloat64(at + place * 8, true);
    const bits = classWeights.map((_, which) => {
      const from = bitsAt;
      bitsAt += number(4 + which);
      return data.subarray(from, bitsAt);
    });
    const latest = classWeights.map((_, which) => number(4 + classWeights.length + which));
    yield { start: number(0), end: number(1), firstLine: number(2), lines: number(3), bits, latest };
  }
}

const nothing = new Uint8Array(0);

type Piece = Pick<Region, "bytes" | "start" | "end" | "offset">;

/** Finds the end of the line that fills a segment. */
function pieceEnd(bytes: Buffer, start: number, end: number): number {
  if (end - start <= segmentBytes) return end;
  const lineFeed = bytes.indexOf(0x0a, start + segmentBytes);
  return lineFeed < 0 || lineFeed >= end ? end : lineFeed + 1;
}

function foldPiece(state: Grams, piece: Piece): void {
  const { bytes, start, end, offset } = piece;
  let segment = state.segments.at(-1);
  if (!segment || segment.end - segment.start + (end - start) > segmentBytes) {
    const firstLine = segment ? segment.firstLine + segment.lines : 1;
    const bits = classWeights.map(() => nothing);
    const latest = classWeights.map(() => 0);
    segment = { start: offset, end: offset, firstLine, lines: 0, bits, latest };
    state.segments.push(segment);
  }
  const texts = classWeights.map((): string[] => []);
  const { latest } = segment;
  segment.lines += forEachLine(piece, (lineStart, lineEnd) => {
    const line = bytes.subarray(lineStart, lineEnd);
    for (const record of recordsOf(line, offset + lineStart - start)) {
      const time = Date.parse(String(record["timestamp"])) || Infinity;
      for (const { kind, text } of textsOf(record)) {
        const which = classes[kind];
        texts[which]?.push(...lowerCases(text));
        latest[which] = Math.max(latest[which] ?? 0, time);
      }
    }
  });
  texts.forEach(
    (list, which) => (segment.bits[which] = bitmapOf(list, segment.bits[which] ?? nothing, fullest[which] ?? 1)),
  );
  segment.end = offset + (end - start);
}

/** Returns the records of a line. For a damaged line, its text is an additional record. */
function recordsOf(line: Buffer, offset: number): readonly Value[] {
  let damaged: Value | undefined;
  const records = parseLine(line, { line: 0, offset }, ({ text }) => {
    damaged = { type: damagedLine, text };
  });
  return [...records.map(({ value }) => value), ...(damaged ? [damaged] : [])];
}

/**
 * Returns a text in lower case. If lower case changes the length of the text, `wordTerm` (query.ts) compares by another
 * rule, for which a second text is returned.
 */
function lowerCases(text: string): readonly string[] {
  const lower = text.toLowerCase();
  return lower.length === text.length ? [lower] : [lower, text.toUpperCase().toLowerCase()];
}

/** A part of a file that may have matches. */
export interface Stretch {
  readonly from: number;
  readonly until: number;
  readonly firstLine: number;
  /** The weight of the best text that may match. */
  readonly weight: number;
  /** The latest time of a text with this weight; Infinity if unknown. */
  readonly latest: number;
}

/** A list for each searched text. The list has the byte sequences that a segment with a match must contain. */
export type Wanted = readonly (readonly number[])[];

export function wantedOf(texts: readonly string[]): Wanted {
  return texts.map(gramsIn).filter((grams) => grams.length > 0);
}

/**
 * Finds the segments that may match. Creates objects only for these segments, because it reads the index of every file.
 */
export function stretchesIn(
  data: Uint8Array,
  wanted: Wanted,
): { readonly stretches: readonly Stretch[]; readonly rest: Stretch } {
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const count = view.getFloat64(0, true);
  const stretches: Stretch[] = [];
  let [until, firstLine] = [0, 1];
  let bitsAt = 8 + count * headerBytes;
  for (let segment = 0; segment < count; segment += 1) {
    const at = 8 + segment * headerBytes;
    const number = (place: number): number => view.getFloat64(at + place * 8, true);
    until = number(1);
    firstLine = number(2) + number(3);
    lengths.forEach((_, which) => (lengths[which] = number(4 + which)));
    const best = bestClass(data, bitsAt, wanted);
    if (best >= 0) {
      const latest = number(4 + classWeights.length + best);
      stretches.push({ from: number(0), until, firstLine: number(2), weight: classWeights[best] ?? 0, latest });
    }
    for (const length of lengths) bitsAt += length;
  }
  return { stretches, rest: { from: until, until, firstLine, weight: weights.prompt, latest: Infinity } };
}

/** The sizes of the bitmaps of a segment, one for each class. */
const lengths = classWeights.map(() => 0);

/** Returns the class of the best text that may match, or -1. The terms may be in different texts of a line. */
function bestClass(data: Uint8Array, bitsAt: number, wanted: Wanted): number {
  if (wanted.length === 0) return lengths.findIndex((length) => length > 0);
  let best = lengths.length;
  for (const grams of wanted) {
    const which = classWith(grams, data, bitsAt);
    if (which < 0) return -1;
    best = Math.min(best, which);
  }
  return best;
}

function classWith(grams: readonly number[], data: Uint8Array, bitsAt: number): number {
  let from = bitsAt;
  for (let which = 0; which < lengths.length; which += 1) {
    const length = lengths[which] ?? 0;
    if (length > 0 && hasAll(data, grams, from, length)) return which;
    from += length;
  }
  return -1;
}
