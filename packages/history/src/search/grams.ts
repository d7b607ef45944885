/**
 * Which four-byte sequences occur in each stretch of a file, so that a search can pass over stretches that cannot
 * match. Letters are folded like the byte search folds them.
 */
import type { Facet } from "../facets/facet.ts";
import { forEachLine } from "../format/line-splitter.ts";

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

const segmentBytes = 256 * 1024;

export const gramsFacet: Facet<Grams> = {
  name: "grams",
  version: 1,
  start: () => ({ segments: [] }),
  fold(state, region) {
    const { bytes, start, end, offset } = region;
    const size = end - start;
    let segment = state.segments.at(-1);
    const isFull = !segment || segment.end - segment.start + size > segment.bits.length * 20;
    if (!segment || isFull) {
      const firstLine = segment ? segment.firstLine + segment.lines : 1;
      segment = { start: offset, end: offset, firstLine, lines: 0, bits: new Uint8Array(bitmapBytes(size)) };
      state.segments.push(segment);
    }
    segment.lines += forEachLine(region, () => {});
    segment.end = offset + size;
    mark(segment.bits, bytes, start, end);
  },
  encode(state) {
    const meta = state.segments.map(({ start, end, firstLine, lines, bits }) => [
      start,
      end,
      firstLine,
      lines,
      bits.length,
    ]);
    const header = Buffer.from(JSON.stringify(meta));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(header.length);
    return Buffer.concat([length, header, ...state.segments.map(({ bits }) => bits)]);
  },
  decode(data) {
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
    const headerEnd = 4 + bytes.readUInt32LE(0);
    const meta = JSON.parse(bytes.toString("utf8", 4, headerEnd)) as [number, number, number, number, number][];
    let at = headerEnd;
    const segments = meta.map(([start, end, firstLine, lines, length]): Segment => {
      const bits = data.subarray(at, at + length);
      at += length;
      return { start, end, firstLine, lines, bits };
    });
    return { segments };
  },
};

/** True when all of these sequences may occur in the segment. */
export function mayContain(segment: Segment, grams: readonly number[]): boolean {
  const mask = segment.bits.length * 8 - 1;
  for (const gram of grams) {
    const bit = placeOf(gram, mask);
    if (((segment.bits[bit >> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** The sequences of search texts. A text of fewer than four bytes gives none, and excludes nothing. */
export function gramsOf(literals: readonly string[]): readonly number[] {
  const grams = new Set<number>();
  for (const literal of literals) {
    const bytes = Buffer.from(literal);
    for (let i = 0; i + 4 <= bytes.length; i += 1) {
      let gram = 0;
      for (let j = 0; j < 4; j += 1) gram = (gram << 8) | ((bytes[i + j] ?? 0) | 0x20);
      grams.add(gram);
    }
  }
  return [...grams];
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
  }
}

function placeOf(gram: number, mask: number): number {
  return ((Math.imul(gram, 0x9e3779b1) >>> 0) >>> 13) & mask;
}
