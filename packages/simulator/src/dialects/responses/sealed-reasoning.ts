/** Reasoning that only its provider can read. Sealed with what it belongs to, so that it can be checked without a memory. */
import { hash } from "node:crypto";

const PREFIX = "gAAAAsimulated.";

export function seal(thinking: string, itemId: string): string {
  const text = Buffer.from(thinking).toString("base64url");
  return `${PREFIX}${text}.${hash("sha256", `${itemId} ${text}`, "base64url")}`;
}

/** Whether this is not what was sealed, or not for this item. What others sealed cannot be read at all. */
export function isSealBroken(sealed: string, itemId: string): boolean {
  const [text = "", proof] = sealed.slice(PREFIX.length).split(".");
  return !sealed.startsWith(PREFIX) || proof !== hash("sha256", `${itemId} ${text}`, "base64url");
}
