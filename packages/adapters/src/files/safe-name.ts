import { createHash } from "node:crypto";

/**
 * The largest length of the original file name, in bytes of UTF-8. Most file systems allow 255 for the whole name, so
 * 74 are left for the id. The id of a large text has 69.
 */
const NAME_BYTES = 180;

/**
 * Returns `{file_id}_{filename}` as a safe file name. The name has no folders, no control or invisible characters, no
 * characters that Windows forbids, and no `%` or `#`, which are special in a URL. The id comes first, so that no file
 * is called `-rf` or `CON`.
 */
export function storedName(fileId: string, filename: string): string {
  const last = filename.split(/[/\\]/).at(-1) ?? "";
  const clean = last
    .toWellFormed()
    .normalize("NFC")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"|?*%#\uFFFD]/gu, "_")
    .replaceAll(/^[\s.]+|[\s.]+$/g, "");
  return `${safeId(fileId)}_${shortened(clean) || "file"}`;
}

/**
 * Replaces an id by its hash if the id is too long or cannot be part of a file name. Different ids then have different
 * names.
 */
function safeId(fileId: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,73}$/.test(fileId)) return fileId;
  const fingerprint = createHash("sha256").update(fileId).digest("hex").slice(0, 16);
  return `file_${fingerprint}`;
}

/** Shortens a long name, but keeps its file extension. */
function shortened(name: string): string {
  if (Buffer.byteLength(name) <= NAME_BYTES) return name;
  const ending = /\.[\p{L}\p{N}]{1,10}$/u.exec(name)?.[0] ?? "";
  const room = NAME_BYTES - Buffer.byteLength(ending);
  const stem = Buffer.from(name.slice(0, name.length - ending.length))
    .subarray(0, room)
    .toString();
  // If the cut splits a character, the rest is decoded to U+FFFD.
  return stem.replace(/\uFFFD$/, "") + ending;
}
