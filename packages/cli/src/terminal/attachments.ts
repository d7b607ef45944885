import { readFileSync } from "node:fs";
import { basename, extname } from "node:path";
import type { Content, ContentBlock } from "@skein/protocol";
import { UsageError } from "./exit-codes.ts";
import { fileSentence, isFileError } from "./file-error.ts";

const IMAGES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** Returns a prompt with files before its text: images, PDFs and text files. */
export function withAttachments(prompt: string, files: readonly string[]): Content {
  return files.length === 0 ? prompt : [...files.map(partOf), { type: "text", text: prompt }];
}

function partOf(file: string): ContentBlock {
  const bytes = bytesOf(file);
  const kind = extname(file).toLowerCase();
  const title = basename(file);
  const media_type = IMAGES[kind];
  if (media_type !== undefined)
    return { type: "image", source: { type: "base64", media_type, data: bytes.toString("base64") } };
  if (kind === ".pdf")
    return {
      type: "document",
      title,
      source: { type: "base64", media_type: "application/pdf", data: bytes.toString("base64") },
    };
  return { type: "document", title, source: { type: "text", media_type: "text/plain", data: textOf(bytes, file) } };
}

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if (isFileError(error)) throw new UsageError(fileSentence(error));
    throw error;
  }
}

function textOf(bytes: Buffer, file: string): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // The error is reported below.
  }
  throw new UsageError(
    `${file} cannot be attached: it is neither an image (png, jpg, gif, webp), nor a PDF, nor text.`,
  );
}
