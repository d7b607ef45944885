import type { Envelope } from "./envelope.ts";

/** Clients of the agent tables expect frames of at most this many bytes. */
export const FRAME_BYTES = 2048;
/** The maximum length of an id or a name in a frame. */
const LABEL_LENGTH = 200;

const utf8 = new TextEncoder();

/** Splits an envelope into frames of at most 2,048 bytes. Never splits a character. */
export function jsonFrames(envelope: Envelope): readonly string[] {
  const { delta, final, ...rest } = labelled(envelope);
  const frame = (text: string, last: boolean): string => {
    const { type, agent, ...fields } = rest;
    return JSON.stringify({ type, agent, final: final && last, delta: text, ...fields });
  };
  const room = FRAME_BYTES - utf8.encode(frame("", false)).byteLength;
  const pieces = split(delta.toWellFormed(), room);
  return pieces.map((piece, index) => frame(piece, index === pieces.length - 1));
}

/** Shortens ids and names. Some come from models and servers, and a long id or name would fill a whole frame. */
function labelled(envelope: Envelope): Envelope {
  const short = (text: string): string =>
    (text.length <= LABEL_LENGTH ? text : text.slice(0, LABEL_LENGTH)).toWellFormed();
  return {
    ...envelope,
    id: short(envelope.id),
    ...(envelope.name !== undefined && { name: short(envelope.name) }),
    ...(envelope.code !== undefined && { code: short(envelope.code) }),
    ...(envelope.media_type !== undefined && { media_type: short(envelope.media_type) }),
  };
}

/** Splits a text into pieces that take at most `room` bytes inside a JSON string. */
function split(text: string, room: number): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  let used = 0;
  for (let at = 0; at < text.length;) {
    const code = text.codePointAt(at) as number;
    const size = escapedBytes(code);
    if (used + size > room) {
      pieces.push(text.slice(start, at));
      start = at;
      used = 0;
    }
    used += size;
    at += code > 0xffff ? 2 : 1;
  }
  return [...pieces, text.slice(start)];
}

/** Returns how many bytes a character needs in the output of `JSON.stringify`. */
function escapedBytes(code: number): number {
  if (code === 0x22 || code === 0x5c) return 2;
  if (code < 0x20) return code === 8 || code === 9 || code === 10 || code === 12 || code === 13 ? 2 : 6;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}
