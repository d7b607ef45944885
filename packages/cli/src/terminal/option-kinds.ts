import { parseTime } from "./parse-time.ts";

/** Turns the text of an option into a value. */
export interface Kind<Value> {
  /** Completes the sentence "--limit takes …". */
  readonly what: string;
  /** Returns the value, or undefined if the text is not valid. */
  readonly read: (text: string) => Value | undefined;
  /** All valid texts, if there are few. */
  readonly choices?: readonly string[];
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
  return { what: names.join(", "), choices: names, read: (text) => names.find((name) => name === text) };
}

/** Reads an amount in dollars as whole millionths of a dollar. */
export const dollars: Kind<number> = {
  what: "dollars such as 0.05",
  read: (text) => {
    const amount = /^\$?\d*\.?\d+$/.test(text) ? Number(text.replace("$", "")) : Number.NaN;
    return Number.isFinite(amount) ? Math.round(amount * 1e6) : undefined;
  },
};

/** Reads a point in time. A date means the start or the end of its day in local time, depending on `edge`. */
export function time(edge: "start" | "end"): Kind<Date> {
  return {
    what: "a time such as 2026-11-01, 2026-11-01T10:00, 7d or yesterday",
    read: (text) => parseTime(text, edge),
  };
}
