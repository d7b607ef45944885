/**
 * Reads the sums that Copilot writes when it ends. A leg is the time from a start of Copilot to its end. Since 1.0.80,
 * the sums continue over the legs of a session. Before 1.0.80, each leg has separate sums, which are added. The authors
 * of ccusage saw this in their sessions.
 */
import { numberOf, objectOf, type Value } from "../../model/value.ts";
import type { CallTokens } from "../port/transcript-writer.ts";
import { tokensOf } from "./usage-rows.ts";

const names: Readonly<Record<string, string>> = {
  input: "inputTokens",
  output: "outputTokens",
  cacheRead: "cacheReadTokens",
  cacheWrite: "cacheWriteTokens",
  reasoning: "reasoningTokens",
};

export interface Legs {
  readonly count: number;
  /** Returns the usage of each model in this leg. */
  add(metrics: Value): readonly { readonly name: string; readonly tokens: CallTokens }[];
  /** Sets the version of Copilot that writes the next sums. */
  version(text: string): void;
  /** Forgets the sums, because they start again at 0 after a compaction. */
  compacted(): void;
}

export function createLegs(): Legs {
  let before = new Map<string, ReadonlyMap<string, number>>();
  let count = 0;
  let isEachApart = false;
  return {
    get count() {
      return count;
    },
    add(metrics) {
      count += 1;
      return Object.entries(metrics).flatMap(([name, metric]) => {
        const usage = objectOf(objectOf(metric)["usage"]);
        const now = new Map(Object.entries(names).map(([key, field]) => [key, numberOf(usage[field]) ?? 0]));
        const last = before.get(name);
        before.set(name, now);
        // If a sum is smaller than before, it counts only this leg, as in early builds.
        const goesOn =
          !isEachApart && last !== undefined && [...now].every(([key, value]) => value >= (last.get(key) ?? 0));
        const tokens = tokensOf(name, (key) => (now.get(key) ?? 0) - (goesOn ? (last.get(key) ?? 0) : 0));
        return (tokens.input ?? 0) + tokens.output + (tokens.cacheRead ?? 0) > 0 ? [{ name, tokens }] : [];
      });
    },
    version(text) {
      const [major = 0, minor = 0, patch = 0] = text.split(".").map(Number);
      isEachApart = major < 1 || (major === 1 && minor === 0 && patch < 80);
    },
    compacted() {
      before = new Map();
    },
  };
}
