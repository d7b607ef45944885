import { readLines } from "@skein/history";

export interface DamagedLine {
  readonly line: number;
  readonly kind: string;
  readonly message: string;
  /** The readable JSON objects in the line. */
  readonly values: readonly object[];
}

/**
 * The most characters of a line's objects as JSON. The texts of larger objects are cut, because all objects of damaged
 * lines are in memory at the same time.
 */
const MOST_CHARACTERS = 2 ** 18;
/** The most characters of a cut text. */
const MOST_TEXT = 2 ** 14;

/** Returns the lines that DuckDB cannot read, with their numbers. Blank lines are not counted. */
export function damagedLines(path: string): readonly DamagedLine[] {
  const found: DamagedLine[] = [];
  let number = 0;
  let last = 0;
  let damage: { kind: string; message: string } | undefined;
  let values: object[] = [];
  const finish = (): void => {
    if (damage) found.push(held({ line: number, ...damage, values }));
    damage = undefined;
    values = [];
  };
  const at = (line: number): void => {
    if (line === last) return;
    finish();
    last = line;
    number += 1;
  };
  readLines(path, {
    line: ({ line, value }) => {
      at(line);
      if (!damage && hasLoneSurrogate(value)) damage = { kind: "half-surrogate", message: "a lone surrogate" };
      if (damage) values.push(value);
    },
    damage: ({ line, kind, message }) => {
      at(line);
      damage = { kind, message };
    },
  });
  finish();
  return found;
}

function held(damaged: DamagedLine): DamagedLine {
  const { message, values } = damaged;
  if (JSON.stringify(values).length <= MOST_CHARACTERS) return damaged;
  return {
    ...damaged,
    message: `${message}; its texts are cut after ${MOST_TEXT} characters`,
    values: values.map((value) => cut(value) as object),
  };
}

function cut(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, MOST_TEXT);
  if (Array.isArray(value)) return value.map(cut);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cut(inner)]));
}

function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => !key.isWellFormed() || hasLoneSurrogate(inner));
}
