/** The only source of randomness in a simulation, so that a seed determines everything. */
export interface Random {
  /** 0 ≤ n < 1. */
  next(): number;
  /** 0 ≤ n < limit, an integer. */
  int(limit: number): number;
  /** From `low` to `high`, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  fill(bytes: Uint8Array): Uint8Array;
}

/** sfc32, seeded through splitmix32: small, fast, and with the same results on every machine. */
export function createRandom(seed: number): Random {
  let mix = seed >>> 0;
  const split = (): number => {
    mix = (mix + 0x9e37_79b9) >>> 0;
    let z = mix;
    z = Math.imul(z ^ (z >>> 16), 0x21f0_aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a_2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
  let [a, b, c, counter] = [split(), split(), split(), 1];

  function bits(): number {
    const sum = (a + b + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = ((c << 21) | (c >>> 11)) >>> 0;
    c = (c + sum) >>> 0;
    return sum;
  }

  const next = (): number => bits() / 2 ** 32;
  const int = (limit: number): number => Math.floor(next() * limit);

  return {
    next,
    int,
    between: (low, high) => low + int(high - low + 1),
    chance: (probability) => probability > 0 && next() < probability,
    pick(items) {
      if (items.length === 0) throw new Error("Nothing can be picked from an empty list.");
      return items[int(items.length)] as (typeof items)[number];
    },
    fill(bytes) {
      for (let i = 0; i < bytes.length; i++) bytes[i] = bits() & 0xff;
      return bytes;
    },
  };
}
