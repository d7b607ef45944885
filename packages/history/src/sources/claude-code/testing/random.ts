/** Pseudo-random numbers. The same seed gives the same numbers on every machine. */
export interface Random {
  /** Returns a number from 0 (included) to 1 (excluded). */
  next(): number;
  integer(below: number): number;
  pick<T>(items: readonly T[]): T;
  hex(digits: number): string;
  uuid(): string;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const integer = (below: number): number => Math.floor(next() * below);
  const hex = (digits: number): string => {
    let text = "";
    while (text.length < digits)
      text += Math.floor(next() * 0x1_0000_0000)
        .toString(16)
        .padStart(8, "0");
    return text.slice(0, digits);
  };
  return {
    next,
    integer,
    hex,
    pick(items) {
      const item = items[integer(items.length)];
      if (item === undefined) throw new Error("There is nothing to pick from.");
      return item;
    },
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}
