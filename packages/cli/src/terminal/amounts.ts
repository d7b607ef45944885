import type { UsageTotals } from "@skein/protocol";
import { counted } from "./counts.ts";

/** Dollars, with more digits for a small amount, which would otherwise be shown as zero. */
function dollars(micros: number): string {
  return `$${(micros / 1e6).toFixed(micros > 0 && micros < 10_000 ? 6 : 4)}`;
}

export function cost(micros: number, unpricedCalls: number): string {
  if (unpricedCalls === 0) return dollars(micros);
  const calls = `${counted(unpricedCalls, "call")} without a price`;
  return micros === 0 ? calls : `${dollars(micros)} and ${calls}`;
}

/** All input tokens, cached or not, and the output tokens. */
export function tokens(usage: UsageTotals): string {
  const read = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
  return `${read.toLocaleString("en")} tokens in, ${usage.output_tokens.toLocaleString("en")} out`;
}
