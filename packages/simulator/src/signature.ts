import { hash } from "node:crypto";

const PREFIX = "c2ltdWxhdGVk"; // "simulated" in base64, so that readers of a transcript can recognise the signature.

/**
 * The signature of a thinking block. It depends only on the text, so a transcript can be checked without stored state.
 */
export function sign(thinking: string): string {
  return PREFIX + hash("sha256", thinking, "base64");
}

/** Whether a block that the simulator signed was changed later. Other signatures cannot be checked, and pass. */
export function isOwnSignatureBroken(thinking: string, signature: string): boolean {
  return signature.startsWith(PREFIX) && signature !== sign(thinking);
}
