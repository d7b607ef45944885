/**
 * Reads model calls from OpenTelemetry files. Only `chat` spans count, because the span of an agent repeats the counts
 * of its `chat` spans.
 */
import { arrayOf, numberOf, objectOf, stringOf } from "../../model/value.ts";
import { parseLine } from "../../scan/parse-line.ts";
import { eachLine } from "../port/files.ts";
import type { Problem } from "../port/source.ts";
import { tokensOf, type CallRow } from "./usage-rows.ts";

const names: Readonly<Record<string, string>> = {
  input: "gen_ai.usage.input_tokens",
  output: "gen_ai.usage.output_tokens",
  cacheRead: "gen_ai.usage.cache_read.input_tokens",
  cacheWrite: "gen_ai.usage.cache_creation.input_tokens",
  reasoning: "gen_ai.usage.reasoning.output_tokens",
};

export function chatSpans(paths: readonly string[], problems: Problem[]): ReadonlyMap<string, readonly CallRow[]> {
  const spans = new Map<string, Map<string, CallRow>>();
  for (const path of paths) {
    try {
      eachLine(path, (bytes, line) => {
        for (const { value } of parseLine(bytes, { line: 1, offset: 0 }, () => {})) {
          const attributes = objectOf(value["attributes"]);
          const session = stringOf(attributes["gen_ai.conversation.id"]);
          if (attributes["gen_ai.operation.name"] !== "chat" || session === null) continue;
          const [seconds, nanos] = arrayOf(value["endTime"]).map((part) => numberOf(part) ?? 0);
          const id = stringOf(attributes["gen_ai.response.id"]) ?? String(value["spanId"]);
          const model = stringOf(attributes["gen_ai.response.model"] ?? attributes["gen_ai.request.model"]) ?? "";
          const tokens = tokensOf(model, (name) => numberOf(attributes[names[name] ?? ""]) ?? 0);
          const calls = spans.get(session) ?? new Map<string, CallRow>();
          const at = (seconds ?? 0) * 1000 + Math.floor((nanos ?? 0) / 1e6);
          calls.set(id, { id, model, tokens, at, from: `file ${path} line ${line}` });
          spans.set(session, calls);
        }
      });
    } catch (error) {
      problems.push({ path, message: error instanceof Error ? error.message : String(error) });
    }
  }
  return new Map([...spans].map(([session, calls]) => [session, [...calls.values()]]));
}
