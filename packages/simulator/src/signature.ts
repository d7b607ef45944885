import { hash } from "node:crypto";

const PREFIX = "c2ltdWxhdGVk"; // "simulated", so that a reader of a transcript can tell.

/** The signature of a thinking block. It depends on the text alone, so a transcript can be checked without any memory. */
export function sign(thinking: string): string {
  return PREFIX + hash("sha256", thinking, "base64");
}

/** Whether a block that we signed was changed since. Signatures of others cannot be checked here and pass. */
export function isOwnSignatureBroken(thinking: string, signature: string): boolean {
  return signature.startsWith(PREFIX) && signature !== sign(thinking);
}
