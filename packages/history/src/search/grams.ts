/**
 * Which sequences of bytes occur in the texts of each segment of a file, so that a search can skip segments that cannot match, and
 * can begin with those that have the best matches. Only what a search finds is in it: the texts of the lines in lower case, apart by kind.
 */
import type { Facet } from "../facets/facet.ts";
import { damagedLine, textsOf, type LineText } from "../sources/claude-code/search/line-texts.ts";
import { forEachLine, type Region } from "../scan/line-splitter.ts";
import { parseLine } from "../scan/parse-line.ts";
import type { Value } from "../model/value.ts";
import { bitmapOf, gramsIn, hasAll } from "./bitmap.ts";
import { weights } from "./match-line.ts";

interface Segment {
  /** The bytes `[start, end)` of the file: whole lines. */
  readonly start: number;
  end: number;
  readonly firstLine: number;
  lines: number;
  /** A bitmap for each class of texts. */
  readonly bits: Uint8Array[];
}

interface Grams {
  readonly segments: Segment[];
}

/** The classes of texts, and the weight of the best kind in each. */
const classes: Readonly<Record<LineText["kind"], number>> = {
  prompt: 0,
  text: 1,
  tool_use: 2,
  thinking: 2,
  tool_result: 3,
  other: 3,
};
const classWeights = [weights.prompt, weights.text, weights.tool_use, weights.tool_result];

/** Small enough that little is read for a rare word, large enough that the index stays small. */
const segmentBytes = 64 * 1024;
const headerBytes = 8 * (4 + classWeights.length);

export const gramsFacet: Facet<Grams> = {
  name: "grams",
  version: 4,
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
    const numbers = state.segments.flatMap(({ start, end, firstLine, lines, bits }) => [
      start,
      end,
      firstLine,
      lines,
      ...bits.map(({ length }) => length),
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
    yield { start: number(0), end: number(1), firstLine: number(2), lines: number(3), bits };
  }
}

type Piece = Pick<Region, "bytes" | "start" | "end" | "offset">;

/** The end of the line that fills a segment. */
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
    const bits = classWeights.map(() => new Uint8Array(0));
    segment = { start: offset, end: offset, firstLine, lines: 0, bits };
    state.segments.push(segment);
  }
  const texts = classWeights.map((): string[] => []);
  segment.lines += forEachLine(piece, (lineStart, lineEnd) => {
    const line = bytes.subarray(lineStart, lineEnd);
    for (const { kind, text } of recordsOf(line, offset + lineStart - start).flatMap(textsOf))
      texts[classes[kind]]?.push(...lowerCases(text));
  });
  texts.forEach((list, which) => (segment.bits[which] = bitmapOf(list, segment.bits[which] ?? new Uint8Array(0))));
  segment.end = offset + (end - start);
}

/** As a search sees a line: its records, and its text if it is damaged. */
function recordsOf(line: Buffer, offset: number): readonly Value[] {
  let damaged: Value | undefined;
  const records = parseLine(line, { line: 0, offset }, ({ text }) => {
    damaged = { type: damagedLine, text };
  });
  return [...records.map(({ value }) => value), ...(damaged ? [damaged] : [])];
}

/** Letters whose case changes their number are compared by another rule: see `wordTerm`. */
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
}

/** What a search needs from a segment: the sequences of each text that every match contains. Texts that are too short have none. */
export type Wanted = readonly (readonly number[])[];

export function wantedOf(texts: readonly string[]): Wanted {
  return texts.map(gramsIn).filter((grams) => grams.length > 0);
}

/** The segments that may have what is wanted. */
export function stretchesIn(
  data: Uint8Array,
  wanted: Wanted,
): { readonly stretches: Stretch[]; readonly rest: Stretch } {
  const stretches: Stretch[] = [];
  let rest: Stretch = { from: 0, until: 0, firstLine: 1, weight: weights.prompt };
  for (const { start, end, firstLine, lines, bits } of segmentsIn(data)) {
    const weight = weightOf(bits, wanted);
    if (weight > 0) stretches.push({ from: start, until: end, firstLine, weight });
    rest = { ...rest, from: end, until: end, firstLine: firstLine + lines };
  }
  return { stretches, rest };
}

/** The weight of the best text that may match, 0 if none may. The terms may be in different texts of a line. */
function weightOf(bits: readonly Uint8Array[], wanted: Wanted): number {
  let best = 0;
  for (const grams of wanted) {
    const which = bits.findIndex((own) => own.length > 0 && hasAll(own, grams));
    if (which < 0) return 0;
    best = Math.max(best, classWeights[which] ?? 0);
  }
  if (wanted.length > 0) return best;
  return classWeights[bits.findIndex((own) => own.length > 0)] ?? 0;
}
