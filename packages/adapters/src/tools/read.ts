import type { FileHandle } from "node:fs/promises";
import { extname } from "node:path";
import { createInterface } from "node:readline";
import { type Tool, defineTool } from "@skein/core";
import { z } from "zod";
import type { ConfinedFolder } from "./confined-folder.ts";

const LINES = 2000;
const LINE_LENGTH = 2000;
/** Bytes of a file that are looked at; a file may be any size. */
const READ_BYTES = 32 * 1024 * 1024;
const IMAGE_BYTES = 4 * 1024 * 1024;
const IMAGES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** Reads files of a folder: text with line numbers, and images as images. */
export function createRead(folder: ConfinedFolder): Tool {
  return defineTool({
    name: "Read",
    description: `Reads a file of the working folder. Returns up to ${LINES} lines with their numbers; images are shown.`,
    input: z.object({
      file_path: z.string().min(1).describe("The file, relative to the working folder or absolute inside it."),
      offset: z.number().int().nonnegative().optional().describe("The number of the first line to read."),
      limit: z.number().int().positive().optional().describe("How many lines to read."),
    }),
    policy: "repeatable",
    run: async ({ file_path, offset = 1, limit = LINES }) => {
      const file = await folder.openFile(file_path);
      try {
        const mediaType = IMAGES[extname(file_path).toLowerCase()];
        if (mediaType !== undefined) return await image(file, mediaType, file_path);
        return await numberedLines(file, { path: file_path, from: Math.max(1, offset), limit });
      } finally {
        await file.close();
      }
    },
  });
}

async function image(file: FileHandle, mediaType: string, path: string): Promise<unknown> {
  const { size } = await file.stat();
  if (size > IMAGE_BYTES) throw new Error(`${path} has ${size} bytes; an image may have ${IMAGE_BYTES} at most.`);
  const data = (await file.readFile()).toString("base64");
  return [{ type: "image", source: { type: "base64", media_type: mediaType, data } }];
}

async function numberedLines(
  file: FileHandle,
  { path, from, limit }: { path: string; from: number; limit: number },
): Promise<string> {
  const { size } = await file.stat();
  if (size === 0) return "[The file is empty.]";
  const start = new Uint8Array(Math.min(size, 8192));
  await file.read(start, 0, start.byteLength, 0);
  if (start.includes(0)) throw new Error(`${path} is not text.`);
  const stream = file.createReadStream({ start: 0, end: READ_BYTES - 1, autoClose: false, encoding: "utf8" });
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  const shown: string[] = [];
  let number = 0;
  let more = false;
  for await (const line of lines) {
    number += 1;
    if (number < from) continue;
    if (shown.length === limit) {
      more = true;
      break;
    }
    shown.push(`${String(number).padStart(6)}\t${cut(line)}`);
  }
  stream.destroy();
  if (shown.length === 0) throw new Error(`${path} has ${number} lines; there is none at ${from}.`);
  if (more) shown.push(`[There are more lines: read on with offset ${from + limit}.]`);
  else if (size > READ_BYTES) shown.push(`[Only the first ${READ_BYTES} of ${size} bytes were read.]`);
  return shown.join("\n");
}

function cut(line: string): string {
  return line.length <= LINE_LENGTH
    ? line
    : `${line.slice(0, LINE_LENGTH).toWellFormed()} [cut: ${line.length} characters]`;
}
