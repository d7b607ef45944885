/**
 * Skein counts money in whole pico-dollars (10⁻¹² $). Every price per token is a whole number of pico-dollars, so costs
 * are exact and can be added in any order. Amounts are `bigint` in programs and decimal text in JSON. They are rounded
 * to micro-dollars only for display. Reasons: decision 100 in docs/decisions.
 */
export const PICOS_PER_MICRO = 1_000_000n;

/** Adds an amount to a sum in decimal text. */
export function addPicos(sum: string, added: bigint): string {
  return added === 0n ? sum : String(BigInt(sum) + added);
}

/** Rounds an amount to the nearest micro-dollar for display. Half a micro-dollar is rounded up. */
export function microsOf(picos: bigint): number {
  return Number((picos + PICOS_PER_MICRO / 2n) / PICOS_PER_MICRO);
}

/** Returns the exact cost of totals. Older logs have only micro-dollars. */
export function picosOfTotals(totals: {
  readonly cost_micros?: number | undefined;
  readonly cost_picos?: string | undefined;
}): bigint {
  const { cost_micros = 0, cost_picos } = totals;
  return cost_picos === undefined ? BigInt(cost_micros) * PICOS_PER_MICRO : BigInt(cost_picos);
}

/** Converts an amount to dollars for display. The result has only 15 digits, so it must not be added up. */
export function dollarsOf(picos: bigint): number {
  return Number(picos) / 1e12;
}

/**
 * An amount as two counters: whole micro-dollars, and the remaining pico-dollars. Stores add up each counter
 * separately, so that a database can add integers and need not read the stored value.
 */
export interface SplitAmount {
  readonly micros: number;
  readonly rest: number;
}

export function splitAmount(picos: bigint): SplitAmount {
  return { micros: Number(picos / PICOS_PER_MICRO), rest: Number(picos % PICOS_PER_MICRO) };
}

/** Returns the amount for two counters. */
export function joinedAmount({ micros, rest }: SplitAmount): bigint {
  return BigInt(micros) * PICOS_PER_MICRO + BigInt(rest);
}
