import type { Content, ImageContent } from "@skein/protocol";
import { ApiError } from "../../http/api-error.ts";
import { checkUploads } from "../../http/check-uploads.ts";
import type { Caller } from "../../request-context.ts";

/** A prompt and its images as the content of a message. */
export function promptContent(
  { prompt, images }: { readonly prompt: string; readonly images?: readonly ImageContent[] | null | undefined },
  { shared }: Caller,
): Content {
  if (!images || images.length === 0) return prompt;
  for (const [index, { type, data }] of images.entries()) {
    const problem = type === "url" ? shared.deps.webhookSender?.problemWith(data) : undefined;
    if (problem !== undefined) throw new ApiError("url_not_allowed", `images.${index}.data: ${problem}`);
  }
  const blocks = images.map(({ type, media_type, data }) => ({
    type: "image",
    source: type === "url" ? { type, url: data } : { type, media_type, data },
  }));
  checkUploads(blocks.filter(({ source }) => source.type === "base64"));
  return [...blocks, { type: "text", text: prompt }];
}
