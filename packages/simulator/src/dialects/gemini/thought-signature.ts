/**
 * The signature that Gemini adds to a part, so that its thoughts can be recognised later. It depends only on the
 * thoughts.
 */
import { hash } from "node:crypto";

const PREFIX = "c2ltdWxhdGVk";
/** The signatures that Google accepts for calls that another model made. */
const SKIPPED = new Set(["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"]);

export function thoughtSignature(thinking: string): string {
  const text = Buffer.from(thinking).toString("base64");
  return Buffer.from(`${PREFIX}.${text}.${hash("sha256", text, "base64")}`).toString("base64");
}

export function isSignatureBroken(value: unknown): boolean {
  if (typeof value !== "string") return true;
  const [prefix, text = "", proof] = Buffer.from(value, "base64").toString("utf8").split(".");
  return !SKIPPED.has(value) && (prefix !== PREFIX || proof !== hash("sha256", text, "base64"));
}
