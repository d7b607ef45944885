import type { ContentBlock } from "@skein/protocol";

/** A file that is sent with a message, as a content block. */
export interface Attachment {
  readonly name: string;
  readonly size: number;
  readonly block: ContentBlock;
}

const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MIB = 1024 * 1024;
const LARGEST = { picture: 5 * MIB, pdf: 20 * MIB, text: 5 * MIB };

/**
 * Converts a file to a block. Returns a sentence with the reason if the file cannot be sent. The server has the same
 * limits.
 */
export async function attachmentOf(file: File): Promise<Attachment | string> {
  const { name, size, type } = file;
  if (PICTURES.has(type)) {
    if (size > LARGEST.picture) return `${name} is larger than 5 MiB, the limit for a picture.`;
    const source = { type: "base64", media_type: type, data: await base64(file) };
    return { name, size, block: { type: "image", source } };
  }
  if (type === "application/pdf") {
    if (size > LARGEST.pdf) return `${name} is larger than 20 MiB, the limit for a PDF.`;
    const source = { type: "base64", media_type: type, data: await base64(file) };
    return { name, size, block: { type: "document", title: name, source } };
  }
  if (size > LARGEST.text) return `${name} is larger than 5 MiB, the limit for a text file.`;
  const data = await file.text();
  if (data.includes("\0")) return `${name} is neither a picture, a PDF nor a text.`;
  return {
    name,
    size,
    block: { type: "document", title: name, source: { type: "text", media_type: "text/plain", data } },
  };
}

async function base64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
