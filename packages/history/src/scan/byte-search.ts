/**
 * Finds bytes in memory about as fast as they can be read, ignoring the case of letters.
 *
 * The machine code below is `byte-search.wat`, translated with wabt 1.0 (`wat2wasm`). It needs nothing but memory.
 */
export interface ByteSearch {
  /** The memory to read files into. After `grow` use the new one. */
  buffer(): Buffer;
  /** Makes the memory larger and keeps its content. */
  grow(bytes: number): Buffer;
  /** The next position of `needle` in `buffer()[at, end)`, or -1. A hit may be wrong in a few bytes: see the .wat file. */
  find(needle: Needle, at: number, end: number): number;
  /** Prepares a needle for `find`: at most 32 needles. Of a needle only the first 120 bytes are searched for. */
  needle(bytes: Uint8Array): Needle;
  /** For other machine code that works on the same bytes: the memory, and where `buffer()` starts in it. */
  readonly machine: { readonly memory: Memory; readonly bufferAt: number };
}

export interface Needle {
  readonly at: number;
  readonly length: number;
}

const code =
  "AGFzbQEAAAABCQFgBH9/f38BfwIPAQNlbnYGbWVtb3J5AgABAwIBAAcIAQRmaW5kAAAKhAMBgQMCA3sHfyADQQFrIQcgASAHayEIQSD9DyEGIAItAAD9DyEEIAIgB2otAAD9DyEFAkADQAJAA0AgAEHAAGogCEoNASAAIAdqIQwgAP0AAAAgBv1QIAT9IyAM/QAAACAG/VAgBf0j/U4gAP0AABAgBv1QIAT9IyAM/QAAECAG/VAgBf0j/U79UCAA/QAAICAG/VAgBP0jIAz9AAAgIAb9UCAF/SP9TiAA/QAAMCAG/VAgBP0jIAz9AAAwIAb9UCAF/SP9Tv1Q/VD9Uw0BIABBwABqIQAMAAsLIABBwABqIQ0CQANAIAAgCE4NAyAAIA1ODQEgAP0AAAAgBv1QIAT9IyAAIAdq/QAAACAG/VAgBf0j/U79ZCEJAkADQCAJRQ0BIAAgCWhqIQogCiAITg0FIAkgCUEBa3EhCUEBIQsCQANAIAsgB04EQCAKDwsgCiALai0AAEEgciACIAtqLQAARw0BIAtBAWohCwwACwsMAAsLIABBEGohAAwACwsMAAsLQX8L";

const pageBytes = 65_536;
const needleBytes = 128;
const maxNeedles = 32;
/** Where the file's bytes begin in the memory. */
const base = needleBytes * maxNeedles;
/** The search reads blocks of 64 bytes, also beyond the end. */
const slack = needleBytes + 64;

type Find = (at: number, end: number, needle: number, length: number) => number;

interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): void;
}

/** The part of WebAssembly that is used here. TypeScript has its types in the browser library, which is not loaded. */
interface Machine {
  readonly Module: new (code: Uint8Array) => object;
  readonly Memory: new (options: { initial: number }) => Memory;
  readonly Instance: new (code: object, imports: { env: { memory: Memory } }) => { exports: Record<string, unknown> };
}

export const { WebAssembly: machine } = globalThis as unknown as { WebAssembly: Machine };

let compiled: object | undefined;

export function createByteSearch(bytes = 256 * 1024): ByteSearch {
  compiled ??= new machine.Module(Buffer.from(code, "base64"));
  const memory = new machine.Memory({ initial: pages(bytes) });
  const { exports } = new machine.Instance(compiled, { env: { memory } });
  const find = exports["find"] as Find;
  let view = Buffer.from(memory.buffer, base, bytes);
  let needles = 0;
  return {
    buffer: () => view,
    grow(wanted) {
      const missing = pages(wanted) - memory.buffer.byteLength / pageBytes;
      if (missing > 0) memory.grow(missing);
      view = Buffer.from(memory.buffer, base, wanted);
      return view;
    },
    find(needle, at, end) {
      const found = find(base + at, base + end, needle.at, needle.length);
      return found < 0 ? -1 : found - base;
    },
    needle(text) {
      if (needles === maxNeedles) throw new Error(`At most ${maxNeedles} needles can be searched for at once.`);
      const place = needles * needleBytes;
      const length = Math.min(text.length, 120);
      const target = new Uint8Array(memory.buffer, place, needleBytes);
      for (let i = 0; i < length; i += 1) target[i] = (text[i] ?? 0) | 0x20;
      needles += 1;
      return { at: place, length };
    },
    machine: { memory, bufferAt: base },
  };
}

function pages(bytes: number): number {
  return Math.ceil((base + bytes + slack) / pageBytes);
}
