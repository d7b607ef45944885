import { once } from "node:events";
import { extname } from "node:path";
import type { Readable } from "node:stream";
import { createInterface } from "node:readline";
import { type Tool, defineTool } from "@skein/core";
import { z } from "zod";
import { type ConfinedFile, bytesOf } from "./confined-folder.ts";
import type { FolderOf } from "./call-place.ts";

const LINES = 2000;
const LINE_LENGTH = 2000;
/** The most bytes of a file that are read. */
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
export function createRead(folderOf: FolderOf): Tool {
  return defineTool({
    name: "Read",
    description: `Reads a file of the working folder. Returns up to ${LINES} lines with their numbers; images are shown.`,
    input: z.object({
      file_path: z.string().min(1).describe("The file, relative to the working folder or absolute inside it."),
      offset: z.number().int().nonnegative().optional().describe("The number of the first line to read."),
      limit: z.number().int().positive().optional().describe("How many lines to read."),
    }),
    policy: "repeatable",
    run: async ({ file_path, offset = 1, limit = LINES }, context) => {
      const file = await (await folderOf(context)).openFile(file_path);
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

async function image(file: ConfinedFile, mediaType: string, path: string): Promise<unknown> {
  const { size } = file;
  if (size > IMAGE_BYTES) throw new Error(`${path} has ${size} bytes; an image may have ${IMAGE_BYTES} at most.`);
  const data = (await bytesOf(file, IMAGE_BYTES)).toString("base64");
  return [{ type: "image", source: { type: "base64", media_type: mediaType, data } }];
}

async function numberedLines(
  file: ConfinedFile,
  { path, from, limit }: { path: string; from: number; limit: number },
): Promise<string> {
  const { size } = file;
  if (size === 0) return "[The file is empty.]";
  const stream = file.stream(READ_BYTES);
  const isText = await beginsAsText(stream);
  if (!isText) {
    stream.destroy();
    throw new Error(`${path} is not text.`);
  }
  const lines = createInterface({ input: stream.setEncoding("utf8"), crlfDelay: Number.POSITIVE_INFINITY });
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
  if (shown.length === 0) throw new Error(`${path} has ${number} lines, so there is no line ${from}.`);
  if (more) shown.push(`[There are more lines: read on with offset ${from + limit}.]`);
  else if (size > READ_BYTES) shown.push(`[Only the first ${READ_BYTES} of ${size} bytes were read.]`);
  return shown.join("\n");
}

/** Whether a stream begins without a NUL byte. The bytes that were read for this are put back into the stream. */
async function beginsAsText(stream: Readable): Promise<boolean> {
  await Promise.race([once(stream, "readable"), once(stream, "end")]);
  const start = stream.read() as Uint8Array | null;
  if (start === null) return true;
  stream.unshift(start);
  return !start.subarray(0, 8192).includes(0);
}

function cut(line: string): string {
  return line.length <= LINE_LENGTH
    ? line
    : `${line.slice(0, LINE_LENGTH).toWellFormed()} [cut: ${line.length} characters]`;
}
