import { Transform } from "node:stream";
import { withoutSecrets } from "@skein/protocol";

const NEWLINE = 10;

/** Passes on output until a line is longer than allowed. Then calls `tooLong` and drops the rest. */
export function limitLines(maxBytes: () => number, tooLong: () => void): Transform {
  let length = 0;
  let over = false;
  return new Transform({
    transform(chunk: Uint8Array, _, done) {
      if (over) return done();
      const last = chunk.lastIndexOf(NEWLINE);
      const first = chunk.indexOf(NEWLINE);
      // The length of the longest line that ends in this chunk, or of the unfinished line.
      const longest =
        last === -1 ? length + chunk.length : Math.max(length + first, longestBetween(chunk, first, last));
      length = last === -1 ? length + chunk.length : chunk.length - last - 1;
      if (Math.max(longest, length) <= maxBytes()) return done(null, chunk);
      over = true;
      tooLong();
      return done();
    },
  });
}

function longestBetween(chunk: Uint8Array, first: number, last: number): number {
  let longest = 0;
  for (let at = first; at < last;) {
    const next = chunk.indexOf(NEWLINE, at + 1);
    longest = Math.max(longest, next - at - 1);
    at = next;
  }
  return longest;
}

/**
 * `SHOWN` counts the reported characters, `KEPT` the kept bytes. The kept part is longer, so that a secret at the start
 * of the reported part is complete and can be removed.
 */
const SHOWN = 4096;
const KEPT = 64 * 1024;

/** Keeps the last part of a child's stderr, and returns it without secrets. */
export function createTail(): { add(chunk: Uint8Array): void; text(secrets: readonly string[]): string } {
  let kept = Buffer.alloc(0);
  return {
    add(chunk) {
      kept = Buffer.concat([kept, chunk.subarray(-KEPT)]).subarray(-KEPT);
    },
    text(secrets) {
      const known = secrets.filter((secret) => secret.length > 3);
      const text = known.reduce((rest, secret) => rest.replaceAll(secret, "[removed]"), kept.toString("utf8"));
      return withoutSecrets(text).slice(-SHOWN).toWellFormed().trim();
    },
  };
}
