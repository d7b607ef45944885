/**
 * Which sequences of four bytes, and which characters of three bytes, occur in each segment of a file, so that a search can skip
 * segments that cannot match. It works on bytes, so it takes any script; the case of letters is ignored as in the byte search.
 */
import type { Facet } from "../facets/facet.ts";
import type { Literal } from "./literal.ts";
import { forEachLine } from "../scan/line-splitter.ts";

export interface Segment {
  /** The bytes `[start, end)` of the file: whole lines. */
  readonly start: number;
  end: number;
  readonly firstLine: number;
  lines: number;
  readonly bits: Uint8Array;
}

export interface Grams {
  readonly segments: Segment[];
}

/** Small enough that little is read for a rare word, large enough that the index stays small. */
const segmentBytes = 64 * 1024;
const headerNumbers = 5;

export const gramsFacet: Facet<Grams> = {
  name: "grams",
  version: 3,
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
    const header = new Float64Array(1 + state.segments.length * headerNumbers);
    header[0] = state.segments.length;
    state.segments.forEach(({ start, end, firstLine, lines, bits }, at) => {
      header.set([start, end, firstLine, lines, bits.length], 1 + at * headerNumbers);
    });
    return Buffer.concat([Buffer.from(header.buffer), ...state.segments.map(({ bits }) => bits)]);
  },
  decode(data) {
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    const number = (at: number): number => view.getFloat64(at * 8, true);
    const segments: Segment[] = [];
    let bitsAt = (1 + number(0) * headerNumbers) * 8;
    for (let at = 1; segments.length < number(0); at += headerNumbers) {
      const bits = data.subarray(bitsAt, bitsAt + number(at + 4));
      bitsAt += bits.length;
      segments.push({
        start: number(at),
        end: number(at + 1),
        firstLine: number(at + 2),
        lines: number(at + 3),
        bits,
      });
    }
    return { segments };
  },
};

interface Piece {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly offset: number;
}

/** The end of the line that fills a segment. */
function pieceEnd(bytes: Buffer, start: number, end: number): number {
  if (end - start <= segmentBytes) return end;
  const lineFeed = bytes.indexOf(0x0a, start + segmentBytes);
  return lineFeed < 0 || lineFeed >= end ? end : lineFeed + 1;
}

function foldPiece(state: Grams, piece: Piece): void {
  const { bytes, start, end, offset } = piece;
  const size = end - start;
  let segment = state.segments.at(-1);
  const isFull = !segment || segment.end - segment.start + size > segment.bits.length * 20;
  if (!segment || isFull) {
    const firstLine = segment ? segment.firstLine + segment.lines : 1;
    segment = { start: offset, end: offset, firstLine, lines: 0, bits: new Uint8Array(bitmapBytes(size)) };
    state.segments.push(segment);
  }
  segment.lines += forEachLine(piece, () => {});
  segment.end = offset + size;
  mark(segment.bits, bytes, start, end);
}

/** What a segment must have: of each literal all sequences of one of its forms. */
export type Wanted = readonly (readonly (readonly number[])[])[];

/** True if the segment may have what is wanted. */
export function mayContain({ bits }: Segment, wanted: Wanted): boolean {
  const mask = bits.length * 8 - 1;
  const has = (gram: number): boolean => {
    const bit = placeOf(gram, mask);
    return ((bits[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
  };
  return wanted.every((forms) => forms.some((grams) => grams.every(has)));
}

/** The sequences of literals. A literal with a form that has none, because it is too short, excludes no segment and is left out. */
export function gramsOf(literals: readonly Literal[]): Wanted {
  return literals.map(({ forms }) => forms.map(gramsIn)).filter((forms) => forms.every((grams) => grams.length > 0));
}

function gramsIn(bytes: Buffer): readonly number[] {
  const grams = new Set<number>();
  let gram = 0;
  for (const [at, byte] of bytes.entries()) {
    gram = (gram << 8) | (byte | 0x20);
    if (at >= 3) grams.add(gram);
    else if (at === 2 && bytes.length === 3 && isWide(bytes[0] ?? 0)) grams.add(characterOf(gram));
  }
  return [...grams];
}

/** True for the first byte of a character of three or four bytes. */
function isWide(byte: number): boolean {
  return byte >= 0xe0;
}

/** A character of three bytes, told apart from a sequence of four bytes that ends with it. */
function characterOf(gram: number): number {
  return (gram & 0xffffff) | 0x01000000;
}

/** One bit for every two bytes of text, so about every third bit is set. */
function bitmapBytes(size: number): number {
  const wanted = Math.min(Math.max(size, 16_384), segmentBytes) / 16;
  return 2 ** Math.ceil(Math.log2(wanted));
}

function mark(bits: Uint8Array, bytes: Buffer, start: number, end: number): void {
  const mask = bits.length * 8 - 1;
  let gram = 0;
  for (let i = start; i < end; i += 1) {
    gram = (gram << 8) | ((bytes[i] ?? 0) | 0x20);
    const bit = placeOf(gram, mask);
    bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7));
    // Most text is ASCII: only the bytes of a character of three bytes or more are this large.
    if ((gram & 0xe08080) !== (0xe08080 | 0) || !isWide((gram >> 16) & 0xff)) continue;
    const character = placeOf(characterOf(gram), mask);
    bits[character >> 3] = (bits[character >> 3] ?? 0) | (1 << (character & 7));
  }
}

function placeOf(gram: number, mask: number): number {
  return ((Math.imul(gram, 0x9e3779b1) >>> 0) >>> 13) & mask;
}
