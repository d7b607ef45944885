import type { UsageTotals } from "@skein/protocol";
import { counted } from "./counts.ts";

/** Writes an amount in dollars. A small amount has more digits, so that it is not shown as zero. */
function dollars(micros: number): string {
  return `$${(micros / 1e6).toFixed(micros > 0 && micros < 10_000 ? 6 : 4)}`;
}

export function cost(micros: number, unpricedCalls: number): string {
  if (unpricedCalls === 0) return dollars(micros);
  const calls = `${counted(unpricedCalls, "call")} without a price`;
  return micros === 0 ? calls : `${dollars(micros)} and ${calls}`;
}

/** Writes the numbers of input tokens, cached or not, and of output tokens. */
export function tokens(usage: UsageTotals): string {
  const read = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
  return `${read.toLocaleString("en")} tokens in, ${usage.output_tokens.toLocaleString("en")} out`;
}
