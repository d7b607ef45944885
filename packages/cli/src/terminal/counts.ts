export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** A count in words: "1 run", "1,200 runs". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
