/**
 * A bitmap of the sequences of three and four bytes in texts. If a sequence is missing in the bitmap, no text contains
 * it. If a sequence is in the bitmap, a text probably contains it. The size is a power of two, so a bitmap can be made
 * smaller by combining its halves, and larger by repeating its bits.
 */
const mostBits = 17;
const scratch = new Uint8Array(2 ** mostBits / 8);
const words = new Uint32Array(scratch.buffer);
const fewestWords = 4;

let encoded = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Adds texts to the bitmap `known`. `fullest` is the largest share of set bits. The larger the share, the more often a
 * missing sequence is found by mistake.
 */
export function bitmapOf(texts: readonly string[], known: Uint8Array, fullest: number): Uint8Array {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length === 0) return known;
  let size = Math.max(known.length, fewestWords * 4);
  while (size < scratch.length && size * 8 * fullest < length * 4) size *= 2;
  scratch.fill(0, 0, size);
  if (known.length > 0) for (let at = 0; at < size; at += known.length) scratch.set(known, at);
  for (const text of texts) {
    if (encoded.length < text.length * 3) encoded = Buffer.allocUnsafeSlow(text.length * 4);
    mark(encoded, encoded.write(text), size * 8 - 1);
  }
  return scratch.slice(0, joined(size / 4, fullest) * 4);
}

/** Returns true if the bitmap has all sequences. The bitmap has `length` bytes and begins at `from`. */
// oxlint-disable-next-line max-params
export function hasAll(bytes: Uint8Array, grams: readonly number[], from = 0, length = bytes.length): boolean {
  const mask = length * 8 - 1;
  for (const gram of grams) {
    const bit = gram & mask;
    if (((bytes[from + (bit >> 3)] ?? 0) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** Returns the sequences of a text. A text of less than three bytes has no sequence. */
export function gramsIn(text: string): readonly number[] {
  const bytes = Buffer.from(text);
  const grams = new Set<number>();
  let gram = 0;
  for (const [at, byte] of bytes.entries()) {
    gram = (gram << 8) | byte;
    if (at >= 3) grams.add(place(gram, factorOfFour));
    if (at >= 2) for (const factor of factors) grams.add(place(gram & 0xffffff, factor));
  }
  return [...grams];
}

function mark(bytes: Buffer, length: number, mask: number): void {
  let gram = 0;
  for (let i = 0; i < length; i += 1) {
    gram = (gram << 8) | (bytes[i] ?? 0);
    if (i < 2) continue;
    const three = gram & 0xffffff;
    for (let n = 0; n < factors.length; n += 1) setBit(place(three, factors[n] ?? 0) & mask);
    if (i >= 3) setBit(place(gram, factorOfFour) & mask);
  }
}

function setBit(bit: number): void {
  scratch[bit >> 3] = (scratch[bit >> 3] ?? 0) | (1 << (bit & 7));
}

/** A sequence of three bytes sets three bits, because a word of three letters has only one sequence. */
const factors = [0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f];
const factorOfFour = 0x9e3779b1;

function place(gram: number, factor: number): number {
  return Math.imul(gram, factor) >>> (32 - mostBits);
}

/**
 * Combines the halves of the scratch bitmap as long as few bits are set. Returns the number of 32-bit words that are
 * left.
 */
function joined(length: number, fullest: number): number {
  while (length > fewestWords) {
    const half = length / 2;
    let count = 0;
    for (let i = 0; i < half; i += 1) count += ones((words[i] ?? 0) | (words[half + i] ?? 0));
    if (count > fullest * half * 32) break;
    for (let i = 0; i < half; i += 1) words[i] = (words[i] ?? 0) | (words[half + i] ?? 0);
    length = half;
  }
  return length;
}

function ones(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
