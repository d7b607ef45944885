/**
 * Reasoning that only its provider can read. It is encoded together with its item's id, so that it can be checked
 * without stored state.
 */
import { hash } from "node:crypto";

const PREFIX = "gAAAAsimulated.";

export function seal(thinking: string, itemId: string): string {
  const text = Buffer.from(thinking).toString("base64url");
  return `${PREFIX}${text}.${hash("sha256", `${itemId} ${text}`, "base64url")}`;
}

/** Whether the text was changed, or belongs to another item. Texts of other servers cannot be checked. */
export function isSealBroken(sealed: string, itemId: string): boolean {
  const [text = "", proof] = sealed.slice(PREFIX.length).split(".");
  return !sealed.startsWith(PREFIX) || proof !== hash("sha256", `${itemId} ${text}`, "base64url");
}
