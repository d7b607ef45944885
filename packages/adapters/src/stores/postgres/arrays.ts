/**
 * Arrays as parameters of a statement. The package pg would quote and escape each element, and the server would undo
 * it. For bodies that costs more than storing them.
 */

/** An array of values whose text usually needs no quotes: ids, numbers, names. */
export function plainArray(values: readonly (string | number | null)[]): string {
  return `{${values.map(plainElement).join(",")}}`;
}

function plainElement(value: string | number | null): string | number {
  if (typeof value !== "string") return value ?? "NULL";
  const isPlain = /^[\w.-]+$/.test(value) && !/^null$/i.test(value);
  return isPlain ? value : `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

const TEXT_TYPE = 25;
/**
 * The header of a binary array: dimensions, whether there are nulls, the element type; then length and lower bound of
 * the only dimension.
 */
const HEADER = 20;

/** An array of any texts in PostgreSQL's binary form: each element is its length and its bytes. */
export function textArray(values: readonly (string | null)[]): Buffer {
  const lengths = values.map((value) => (value === null ? 0 : Buffer.byteLength(value)));
  const array = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, HEADER + 4 * values.length));
  const header = [1, values.includes(null) ? 1 : 0, TEXT_TYPE, values.length, 1];
  let at = header.reduce((place, number) => array.writeInt32BE(number, place), 0);
  for (const [index, value] of values.entries()) {
    at = array.writeInt32BE(value === null ? -1 : (lengths[index] ?? 0), at);
    if (value !== null) at += array.write(value, at);
  }
  return array;
}
