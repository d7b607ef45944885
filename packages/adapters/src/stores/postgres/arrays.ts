/**
 * This file encodes arrays as parameters of a statement. The escaping of the package pg costs more than storing the
 * event bodies.
 */

/** Encodes an array as text. The values rarely need quotes: ids, numbers, names. */
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
 * The size of the header of a binary array, in bytes. Its fields: number of dimensions, null flag, element type,
 * length, lower bound.
 */
const HEADER = 20;

/** Encodes texts as an array in PostgreSQL's binary form. Each element is its length, followed by its bytes. */
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
