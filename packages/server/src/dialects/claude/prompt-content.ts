import { type Content, type ImageContent, KnownError } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import { problemWith } from "../../http/check-uploads.ts";
import type { Caller } from "../../request-context.ts";

/** Converts a prompt and its images to the content of a message. */
export function promptContent(
  { prompt, images }: { readonly prompt: string; readonly images?: readonly ImageContent[] | null | undefined },
  { shared }: Caller,
): Content {
  if (!images || images.length === 0) return prompt;
  for (const [index, image] of images.entries()) {
    const field = `images.${index}.data`;
    if (image.type === "url") {
      const problem = shared.deps.webhookSender?.problemWith(image.data);
      if (problem !== undefined) throw new ApiError("url_not_allowed", `${field}: ${problem}`);
    } else {
      const problem = problemWith("image", { ...image }) ?? cutOff(image);
      if (problem !== undefined) throw new KnownError("invalid", `${field}: ${problem}`);
    }
  }
  const blocks = images.map(({ type, media_type, data }) => ({
    type: "image",
    source: type === "url" ? { type, url: data } : { type, media_type, data },
  }));
  return [...blocks, { type: "text", text: prompt }];
}

/** Tells for each type whether an image is complete. Claude Code silently leaves out an image that it cannot read. */
const ENDS: Readonly<Record<string, (bytes: Buffer) => boolean>> = {
  "image/png": (bytes) => bytes.includes("IEND"),
  "image/jpeg": (bytes) => bytes.includes(Buffer.from([0xff, 0xd9])),
  "image/gif": (bytes) => bytes.includes(0x3b, 13),
  "image/webp": (bytes) => bytes.length >= 16 && bytes.readUInt32LE(4) + 8 <= bytes.length,
};

function cutOff({ media_type, data }: ImageContent): string | undefined {
  if (ENDS[media_type]?.(Buffer.from(data, "base64"))) return undefined;
  return `The ${media_type} is incomplete: its end is missing. Send the whole file.`;
}
