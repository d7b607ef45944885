import { z } from "zod";

/**
 * Accepts any UUID and turns it into lower case. Skein makes UUIDs v7. Ids from Claude Code and from clients keep their
 * version.
 */
export const Uuid = z
  .string()
  .toLowerCase()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, "Expected a UUID.");

/** Tells whether a text is a UUID in lower case. Such a text is safe as a file name. */
export function isKeptUuid(text: string): boolean {
  return Uuid.safeParse(text).data === text;
}

/**
 * Makes a new UUID v7. Each id is greater than the previous id, even in the same millisecond or after the clock goes
 * back.
 */
export type Ids = () => string;

export interface IdsDeps {
  readonly now?: () => number;
  readonly random?: (bytes: Uint8Array) => Uint8Array;
}

const COUNTER_LIMIT = 2 ** 42;

/**
 * UUID v7 (RFC 9562, method 1): 48 bits of time, a 42-bit counter, 32 random bits.
 *
 * Only ids of the same process are in order. To order events of several processes, use their sequence.
 */
export function createIds({ now = Date.now, random = (bytes) => crypto.getRandomValues(bytes) }: IdsDeps = {}): Ids {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  // Random bytes are requested in large pieces, because a request for each id would be slow.
  const pool = new Uint8Array(4096);
  let used = pool.length;
  let last = -1;
  let counter = 0;

  function take(count: number): Uint8Array {
    if (used + count > pool.length) {
      random(pool);
      used = 0;
    }
    used += count;
    return pool.subarray(used - count, used);
  }

  /** Returns a random start value. Its top bit is 0, so that the counter can grow. */
  function freshCounter(): number {
    const part = take(6);
    const high = ((part[0] ?? 0) & 0x01) * 2 ** 40;
    return high + new DataView(part.buffer, part.byteOffset + 1, 4).getUint32(0) * 2 ** 8 + (part[5] ?? 0);
  }

  return () => {
    const time = now();
    counter += 1;
    if (time > last || counter >= COUNTER_LIMIT) {
      last = Math.max(time, last + 1);
      counter = freshCounter();
    }
    view.setUint16(0, Math.floor(last / 2 ** 32));
    view.setUint32(2, last % 2 ** 32);
    view.setUint16(6, 0x7000 | Math.floor(counter / 2 ** 30));
    view.setUint32(8, 0x8000_0000 + (counter % 2 ** 30));
    bytes.set(take(4), 12);
    return format(bytes);
  };
}

/**
 * The id of one part of a message. The id is computed from the message's id, so that a repeated append makes the same
 * rows.
 *
 * Part 0 has the id of the message. For later parts, the number of the part is added to the last 32 bits, which are
 * random.
 */
export function partId(messageId: string, part: number): string {
  if (part === 0) return messageId;
  const last = (Number.parseInt(messageId.slice(-8), 16) + part) % 2 ** 32;
  return messageId.slice(0, -8) + last.toString(16).padStart(8, "0");
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function format(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += "-";
    text += HEX[bytes[i] ?? 0];
  }
  return text;
}
