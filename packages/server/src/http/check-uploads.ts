import { type Content, type JsonObject, KnownError } from "@skein/protocol";

/** Tests that recognise file types by the first bytes. */
const MAGIC: readonly (readonly [type: string, test: (bytes: Buffer) => boolean])[] = [
  ["image/png", (bytes) => bytes.subarray(0, 8).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))],
  ["image/jpeg", (bytes) => bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff],
  ["image/gif", (bytes) => /^GIF8[79]a/.test(bytes.toString("latin1", 0, 6))],
  ["image/webp", (bytes) => /^RIFF....WEBP/s.test(bytes.toString("latin1", 0, 12))],
  ["application/pdf", (bytes) => bytes.toString("latin1", 0, 1024).includes("%PDF-")],
];

const IMAGE_BYTES = 5 * 1024 * 1024;
const PDF_BYTES = 20 * 1024 * 1024;
const NO_BASE64 = "The data is not base64.";
const TEXT_CHARACTERS = 5 * 1024 * 1024;

/** Rejects uploads that are too large, whose content is not of the stated type, or that refer to content elsewhere. */
export function checkUploads(content: Content): void {
  if (typeof content === "string") return;
  for (const [index, block] of content.entries()) {
    if (block.type !== "image" && block.type !== "document") continue;
    const problem = problemWith(block.type, block["source"] as JsonObject);
    if (problem !== undefined) throw new KnownError("invalid", `content.${index}.source: ${problem}`);
  }
}

/** Returns a sentence about the problem of a source, if it has a problem. */
export function problemWith(block: "image" | "document", source: JsonObject): string | undefined {
  const { type, media_type, data } = source;
  if (type === "text") {
    if (block !== "document" || media_type !== "text/plain" || typeof data !== "string")
      return "Send text as a document with the media type text/plain.";
    return data.length > TEXT_CHARACTERS ? `A text may have at most ${TEXT_CHARACTERS} characters.` : undefined;
  }
  // URLs and file ids would make the model's provider fetch content that this server has not checked.
  if (type !== "base64") return 'Expected a source of the type "base64" or "text".';
  if (typeof data !== "string") return NO_BASE64;
  const size = base64Size(data);
  const limit = block === "image" ? IMAGE_BYTES : PDF_BYTES;
  if (size > limit) return `The data has ${size} bytes; the limit is ${limit} bytes.`;
  if (!isBase64(data, size)) return NO_BASE64;
  const start = Buffer.from(data.slice(0, 2048), "base64");
  const real = MAGIC.find(([, test]) => test(start))?.[0];
  const expected = block === "image" ? "a PNG, JPEG, GIF or WebP image" : "a PDF";
  if (real === undefined || real.startsWith("image/") !== (block === "image")) return `The data is not ${expected}.`;
  return real === media_type
    ? undefined
    : `The data is ${real}, but media_type says ${String(media_type).slice(0, 100)}.`;
}

/** The number of bytes that a base64 text encodes. */
function base64Size(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.floor((data.length * 3) / 4) - padding;
}

/** The decoded data is not needed, so all pieces are decoded into the same buffer. */
const PIECE = 256 * 1024;
const scratch = Buffer.alloc(PIECE);

/**
 * Checks a text by decoding it. Decoding skips characters that are not base64, so an invalid text gives too few bytes.
 * A regular expression would take several times as long. Decoding also accepts `-` and `_`, so they are checked
 * separately.
 */
function isBase64(data: string, size: number): boolean {
  if (data.length % 4 !== 0 || data.includes("-") || data.includes("_")) return false;
  let bytes = 0;
  for (let at = 0; at < data.length; at += PIECE) bytes += scratch.write(data.slice(at, at + PIECE), "base64");
  return bytes === size;
}
