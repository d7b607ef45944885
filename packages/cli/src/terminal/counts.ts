export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** Shortens a count to at most six columns, such as 950, 12.3k, 4.56M or 1.23B. */
export function shortCount(value: number): string {
  if (value < 10_000) return count(value);
  const [size, unit] = value < 999_500 ? [1e3, "k"] : value < 999_500_000 ? [1e6, "M"] : ([1e9, "B"] as const);
  const part = value / size;
  return `${part.toFixed(part < 9.995 ? 2 : part < 99.95 ? 1 : 0)}${unit}`;
}

/** Formats a count with its noun, such as "1 run" or "1,200 runs". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
