import { expect, test } from "vitest";
import { checkUploads } from "../../src/http/check-uploads.ts";

const base64 = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString("base64");
const file = (type: "image" | "document", media_type: string, data: string) => [
  { type, source: { type: "base64", media_type, data } },
];
const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

test.each([
  ["a PNG", file("image", "image/png", base64(png))],
  ["a GIF", file("image", "image/gif", base64("GIF89a"))],
  ["a WebP", file("image", "image/webp", base64("RIFF\0\0\0\0WEBP"))],
  ["a PDF", file("document", "application/pdf", base64("%PDF-1.7"))],
])("an upload of %s is accepted", (_, content) => expect(() => checkUploads(content)).not.toThrow());

test.each([
  ["a PNG whose media_type says JPEG", file("image", "image/jpeg", base64(png)), /image\/png/],
  ["a PDF as an image", file("image", "application/pdf", base64("%PDF-1.7")), /not a PNG/],
  ["a PNG as a document", file("document", "image/png", base64(png)), /not a PDF/],
  ["a program", file("document", "application/pdf", base64("MZ\u0090")), /not a PDF/],
  ["6 MiB of PNG", file("image", "image/png", base64(Buffer.concat([png, Buffer.alloc(6 * 2 ** 20)]))), /bytes/],
  ["no base64", file("image", "image/png", "a"), /base64/],
  ["base64 with a hole", file("image", "image/png", `${base64(png)} AAA`), /base64/],
  ["base64url", file("image", "image/png", `${base64(png)}AA_-`), /base64/],
  ["base64 that continues after its end", file("image", "image/png", `${base64(png)}AA==`), /base64/],
  ["an address", [{ type: "image", source: { type: "url", url: "https://example.com/a.png" } }], /source of the type/],
])("an upload of %s is rejected", (_, content, sentence) => expect(() => checkUploads(content)).toThrow(sentence));
