/**
 * Checks the rules that differ between versions of the API: version 2026-10-21 rejects requests that version 2023-06-01
 * accepts. The SDK uses the new version. Claude Code 2.1 uses the old version.
 */
import { invalid } from "../../api-error.ts";
import { isObject, type JsonObject, type Message } from "../../wire.ts";

const SAMPLING = ["temperature", "top_p", "top_k"];

export function checkVersion(version: string, body: JsonObject, messages: readonly Message[]): void {
  if (version < "2026-10-21") return checkSampling(body);
  for (const name of SAMPLING) {
    if (body[name] !== undefined) throw invalid(name, "Extra inputs are not permitted");
  }
  for (const [index, { role, content }] of messages.entries()) {
    if (typeof content === "string") continue;
    for (const [place, block] of content.entries()) {
      const where = `messages.${index}.content.${place}`;
      if (role === "assistant" && block.type === "document") {
        throw invalid(where, "`document` blocks are not permitted in `assistant` messages");
      }
      if (role === "user" && block.type === "text" && Array.isArray(block.citations) && block.citations.length > 0) {
        throw invalid(`${where}.text.citations`, "citations are not permitted in `user` messages");
      }
    }
  }
}

/** Models before Opus 4.1, which accept `temperature` and `top_p` together. */
const BOTH = /^claude-(?:3|2|instant|(?:opus|sonnet)-4-(?:0|2025))/;

function checkSampling(body: JsonObject): void {
  for (const name of ["temperature", "top_p"]) {
    const value = body[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== "number") throw invalid(name, "Input should be a valid number");
    if (value < 0 || value > 1) throw invalid(name, "range: 0..1");
  }
  if (isObject(body.thinking) && body.thinking.type === "enabled") checkWithThinking(body);
  const both = typeof body.temperature === "number" && typeof body.top_p === "number";
  if (both && !BOTH.test(String(body.model)))
    throw invalid("", "`temperature` and `top_p` cannot both be specified for this model. Please use only one.");
}

function checkWithThinking({ temperature, top_p: topP, top_k: topK }: JsonObject): void {
  if ((temperature ?? 1) !== 1) throw invalid("", "`temperature` may only be set to 1 when thinking is enabled.");
  if (topK !== undefined && topK !== null) throw invalid("", "`top_k` must be unset when thinking is enabled.");
  if (Number(topP ?? 1) < 0.95)
    throw invalid("", "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.");
}
