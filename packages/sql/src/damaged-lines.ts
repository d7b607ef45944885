import { readLines } from "@skein/history";

export interface DamagedLine {
  readonly line: number;
  readonly kind: string;
  readonly message: string;
  /** What is still whole in it. */
  readonly values: readonly object[];
}

/** The lines that DuckDB cannot read, numbered as DuckDB numbers them: blank ones do not count. */
export function damagedLines(path: string): readonly DamagedLine[] {
  const found: DamagedLine[] = [];
  let number = 0;
  let last = 0;
  let damage: { kind: string; message: string } | undefined;
  let values: object[] = [];
  const finish = (): void => {
    if (damage) found.push({ line: number, ...damage, values });
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
      if (!damage && hasHalfPair(value)) damage = { kind: "half-surrogate", message: "half of a surrogate pair" };
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

function hasHalfPair(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => !key.isWellFormed() || hasHalfPair(inner));
}
