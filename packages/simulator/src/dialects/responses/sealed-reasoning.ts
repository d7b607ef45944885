/**
 * Reasoning that only the provider can read. The encoded text contains a hash of the text and the item's id, so that the
 * simulator can check the text without stored state.
 */
import { hash } from "node:crypto";

const PREFIX = "gAAAAsimulated.";

export function seal(thinking: string, itemId: string): string {
  const text = Buffer.from(thinking).toString("base64url");
  return `${PREFIX}${text}.${hash("sha256", `${itemId} ${text}`, "base64url")}`;
}

/** Returns whether the text was changed, or belongs to another item. A text of another server counts as changed. */
export function isSealBroken(sealed: string, itemId: string): boolean {
  const [text = "", proof] = sealed.slice(PREFIX.length).split(".");
  return !sealed.startsWith(PREFIX) || proof !== hash("sha256", `${itemId} ${text}`, "base64url");
}
