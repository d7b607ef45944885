/**
 * Finds bytes in memory, and ignores the case of letters. A search is about as fast as reading the bytes.
 *
 * The machine code below is `byte-search.wat`, translated with wabt 1.0 (`wat2wasm`).
 * Reasons: docs/decisions/032-byte-search.md.
 */
export interface ByteSearch {
  /** The memory to read files into. `grow` replaces this memory. */
  buffer(): Buffer;
  /** Makes the memory larger and keeps its content. */
  grow(bytes: number): Buffer;
  /**
   * Returns the next position of `needle` in `buffer()[at, end)`, or -1. The .wat file lists bytes that count as equal.
   */
  find(needle: Needle, at: number, end: number): number;
  /**
   * Returns the next position of a text with characters beyond ASCII. The first needle is the unescaped text. Its first
   * byte must be the same in upper and lower case. The second needle is the escaped text, which begins with `\u`.
   */
  findForeign(needles: readonly [Needle, Needle], at: number, end: number): number;
  /** Prepares a needle for `find`: at most 32 needles. Only the first 120 bytes of a needle are searched. */
  needle(bytes: Uint8Array): Needle;
  /**
   * The memory, for other machine code that works on the same bytes. `buffer()` starts at `bufferAt`. Bytes 4096 to
   * 5120 are free.
   */
  readonly machine: { readonly memory: Memory; readonly bufferAt: number };
}

export interface Needle {
  readonly at: number;
  readonly length: number;
  /** The first byte of the needle, in its original case. */
  readonly lead: number;
}

const code =
  "AGFzbQEAAAABGgNgBH9/f38Bf2AHf39/f39/fwF/YAJ/fwF/Ag8BA2VudgZtZW1vcnkCAAEDBAMAAQIHEgIEZmluZAAAB2ZvcmVpZ24AAQqFBwOBAwIDewd/IANBAWshByABIAdrIQhBIP0PIQYgAi0AAP0PIQQgAiAHai0AAP0PIQUCQANAAkADQCAAQcAAaiAISg0BIAAgB2ohDCAA/QAAACAG/VAgBP0jIAz9AAAAIAb9UCAF/SP9TiAA/QAAECAG/VAgBP0jIAz9AAAQIAb9UCAF/SP9Tv1QIAD9AAAgIAb9UCAE/SMgDP0AACAgBv1QIAX9I/1OIAD9AAAwIAb9UCAE/SMgDP0AADAgBv1QIAX9I/1O/VD9UP1TDQEgAEHAAGohAAwACwsgAEHAAGohDQJAA0AgACAITg0DIAAgDU4NASAA/QAAACAG/VAgBP0jIAAgB2r9AAAAIAb9UCAF/SP9Tv1kIQkCQANAIAlFDQEgACAJaGohCiAKIAhODQUgCSAJQQFrcSEJQQEhCwJAA0AgCyAHTgRAIAoPCyAKIAtqLQAAQSByIAIgC2otAABHDQEgC0EBaiELDAALCwwACwsgAEEQaiEADAALCwwACwtBfwvyAwIOewh/QdwA/Q8hDEH1AP0PIQ0gBv0PIQ4gA0EBayEVIAVBAWshFkEg/Q8hCyACLQAA/Q8hByACIBVqLQAA/Q8hCCAELQAA/Q8hCSAEIBZqLQAA/Q8hCgJAA0AgACABTg0BIAAgHE4EQCAA/QAAACEPIAD9AAAQIRAgAP0AACAhESAA/QAAMCESIABBwABqIRwgDyAO/SMgECAO/SP9UCARIA79IyASIA79I/1Q/VAgDyAM/SMgAP0AAAEgDf0j/U4gECAM/SMgAP0AABEgDf0j/U79UCARIAz9IyAA/QAAISAN/SP9TiASIAz9IyAA/QAAMSAN/SP9Tv1Q/VD9UP1TRQRAIBwhAAwCCwsgAEEgaiEZIAAgFWohFyAAIBZqIRggAP0AAAAgC/1QIRMgAP0AABAgC/1QIRQgEyAH/SMgF/0AAAAgC/1QIAj9I/1OIBMgCf0jIBj9AAAAIAv9UCAK/SP9Tv1QIBQgB/0jIBf9AAAQIAv9UCAI/SP9TiAUIAn9IyAY/QAAECAL/VAgCv0j/U79UP1Q/VMEQCAAIAEgGSAVahACIAIgAxAAIRogACABIBkgFmoQAiAEIAUQACEbIBpBAE4EQCAbQQBIBEAgGg8LIBogGxACDwsgG0EATgRAIBsPCwsgGSEADAALC0F/CwwAIAAgASAAIAFIGws=";

const pageBytes = 65_536;
const needleBytes = 128;
const maxNeedles = 32;
/**
 * Memory after the needles, for the keys and results of other machine code.
 */
const spareBytes = 1024;
/** Where the file's bytes begin in the memory. */
const base = needleBytes * maxNeedles + spareBytes;
/** Extra memory, because the search reads blocks of 64 bytes, even beyond the end. */
const slack = needleBytes + 64;

type Find = (at: number, end: number, needle: number, length: number) => number;
/** Parameters: the range, the place and length of both needles, and the first byte of the first needle. */
type FindForeign = (...numbers: readonly number[]) => number;

interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): void;
}

/** The part of WebAssembly that is used here. TypeScript declares it in the browser library, which is not loaded. */
interface Machine {
  readonly Module: new (code: Uint8Array) => object;
  readonly Memory: new (options: { initial: number }) => Memory;
  readonly Instance: new (code: object, imports: { env: { memory: Memory } }) => { exports: Record<string, unknown> };
}

export const { WebAssembly: machine } = globalThis as unknown as { WebAssembly: Machine };

let compiled: object | undefined;

export function createByteSearch(bytes = 512 * 1024): ByteSearch {
  compiled ??= new machine.Module(Buffer.from(code, "base64"));
  const memory = new machine.Memory({ initial: pages(bytes) });
  const { exports } = new machine.Instance(compiled, { env: { memory } });
  const find = exports["find"] as Find;
  const foreign = exports["foreign"] as FindForeign;
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
    findForeign([a, b], at, end) {
      const found = foreign(base + at, base + end, a.at, a.length, b.at, b.length, a.lead);
      return found < 0 ? -1 : found - base;
    },
    needle(text) {
      if (needles === maxNeedles) throw new Error(`At most ${maxNeedles} needles can be searched for at once.`);
      const place = needles * needleBytes;
      const length = Math.min(text.length, 120);
      const target = new Uint8Array(memory.buffer, place, needleBytes);
      for (let i = 0; i < length; i += 1) target[i] = (text[i] ?? 0) | 0x20;
      needles += 1;
      return { at: place, length, lead: text[0] ?? 0 };
    },
    machine: { memory, bufferAt: base },
  };
}

function pages(bytes: number): number {
  return Math.ceil((base + bytes + slack) / pageBytes);
}
