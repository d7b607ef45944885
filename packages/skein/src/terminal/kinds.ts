/** How the text of an option becomes a value. */
export interface Kind<Value> {
  /** Completes the sentence "--limit takes …". */
  readonly what: string;
  /** Undefined: the text is none. */
  readonly read: (text: string) => Value | undefined;
}

const MOST = 999_999_999_999;

export function wholeNumber(least = 0, most = MOST): Kind<number> {
  return {
    what: least === 0 && most === MOST ? "a whole number" : `a whole number from ${least} to ${most}`,
    read: (text) => {
      const number = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
      return number >= least && number <= most ? number : undefined;
    },
  };
}

export function oneOf<const Name extends string>(...names: readonly Name[]): Kind<Name> {
  return { what: names.join(", "), read: (text) => names.find((name) => name === text) };
}

/** Dollars, as millionths. */
export const dollars: Kind<number> = {
  what: "dollars such as 0.05",
  read: (text) => {
    const amount = /^\$?\d*\.?\d+$/.test(text) ? Number(text.replace("$", "")) : Number.NaN;
    return Number.isFinite(amount) ? Math.round(amount * 1e6) : undefined;
  },
};

/** A moment of any form that JavaScript reads, as an instant. A date alone begins at midnight in UTC. */
export const instant: Kind<string> = {
  what: "a time such as 2026-11-15 or 2026-11-15T12:00:00Z",
  read: (text) => {
    const time = Date.parse(text);
    return Number.isNaN(time) ? undefined : new Date(time).toISOString();
  },
};
