/**
 * Money is counted in whole pico-dollars (10⁻¹² $): every rate of the price table is a whole number of them for each
 * token, so a cost is exact and costs can be added in any order. Amounts are `bigint` in programs and decimal text in
 * JSON. They are rounded to micro-dollars only to be shown. Reasons: decision 100.
 */
export const PICOS_PER_MICRO = 1_000_000n;

/** Adds amounts that are kept as decimal text. */
export function addPicos(sum: string, added: bigint): string {
  return added === 0n ? sum : String(BigInt(sum) + added);
}

/** Micro-dollars for people: rounded to the nearest, half upwards. */
export function microsOf(picos: bigint): number {
  return Number((picos + PICOS_PER_MICRO / 2n) / PICOS_PER_MICRO);
}

/** The exact cost that totals contain. Older logs have only micro-dollars. */
export function picosOfTotals(totals: {
  readonly cost_micros?: number | undefined;
  readonly cost_picos?: string | undefined;
}): bigint {
  const { cost_micros = 0, cost_picos } = totals;
  return cost_picos === undefined ? BigInt(cost_micros) * PICOS_PER_MICRO : BigInt(cost_picos);
}

/** Dollars for display. A number has 15 digits, which is enough to display but must not be used in sums. */
export function dollarsOf(picos: bigint): number {
  return Number(picos) / 1e12;
}

/**
 * An amount as two counters: whole micro-dollars, and the pico-dollars that are left over. Stores add up each counter
 * separately and never carry over, so that a database can add integers without reading the stored value.
 */
export interface SplitAmount {
  readonly micros: number;
  readonly rest: number;
}

export function splitAmount(picos: bigint): SplitAmount {
  return { micros: Number(picos / PICOS_PER_MICRO), rest: Number(picos % PICOS_PER_MICRO) };
}

/** The amount from its two counters. */
export function joinedAmount({ micros, rest }: SplitAmount): bigint {
  return BigInt(micros) * PICOS_PER_MICRO + BigInt(rest);
}
