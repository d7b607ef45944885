import { naughtyText } from "@skein/core/testing";
import type { Random } from "../kill/random.ts";

const NUMBERS = [
  0,
  -0,
  -1,
  0.5,
  1e-320,
  1e21,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 53,
  2 ** 53 + 2,
  2 ** 63,
  -(2 ** 63),
  201,
  1001,
  100_001,
];
const KEYS = ["__proto__", "constructor", "prototype", "id", "tenant", "status", "fence", "toString", "", "a b", "💥"];
const WRONG = [null, true, false, "", "5", [], {}, [[]], { text: 5 }, ["a", 1, null], "\ud800"];

/** Returns a copy of the body with one to three errors. */
export function mutated(value: unknown, random: Random): unknown {
  let result = structuredClone(value);
  for (let times = 1 + random.int(3); times > 0; times--) result = once(result, random);
  return result;
}

function once(value: unknown, random: Random): unknown {
  if (typeof value !== "object" || value === null || random.chance(0.05)) return other(value, random);
  const keys = Object.keys(value);
  const holder = value as Record<string, unknown>;
  const key = keys.length === 0 ? "added" : random.pick(keys);
  if (random.chance(0.45)) {
    put(holder, key, once(holder[key], random));
    return value;
  }
  switch (random.int(4)) {
    case 0:
      if (Array.isArray(value)) value.splice(Number(key), 1);
      else delete holder[key];
      return value;
    case 1:
      put(holder, Array.isArray(value) ? String(keys.length) : random.pick(KEYS), other(1, random));
      return value;
    case 2:
      if (Array.isArray(value) && value.length > 0) return many(value[0], random.pick([51, 201, 1001, 20_000]));
      put(holder, random.pick(naughtyText), random.pick(naughtyText));
      return value;
    default:
      put(holder, key, other(holder[key], random));
      return value;
  }
}

/** Repeats a value, up to a few megabytes. */
function many(item: unknown, count: number): unknown[] {
  const size = (JSON.stringify(item) ?? "").length;
  // Copies the value, because a later mutation would change a shared value in all places.
  return Array.from({ length: Math.min(count, Math.ceil(2_000_000 / (size + 1))) }, () => structuredClone(item));
}

/** Sets a key, even `__proto__`, which a normal assignment would lose. */
function put(holder: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
}

function other(value: unknown, random: Random): unknown {
  if (typeof value === "string" && random.chance(0.5))
    return random.pick([
      random.pick(naughtyText),
      `${value}\0`,
      value.toUpperCase(),
      ` ${value}`,
      value.slice(0, -1),
      "x".repeat(random.pick([101, 129, 256, 1001, 70_000])),
    ]);
  if (typeof value === "number" && random.chance(0.7)) return random.pick(NUMBERS);
  return random.pick<() => unknown>([
    // Without the copy, a later mutation could put the value inside itself.
    () => structuredClone(random.pick(WRONG)),
    () => random.pick(NUMBERS),
    () => random.pick(naughtyText),
    () => nested(random.pick([3, 60, 190, 400])),
  ])();
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Text that is not JSON, or JSON that no serialiser writes. */
export function brokenText(json: string, random: Random): string | Buffer {
  return random.pick<() => string | Buffer>([
    () => json.slice(0, random.int(json.length + 1)),
    () => `${json}${json}`,
    () => `\uFEFF${json}`,
    () => json.replaceAll(":", ":NaN,"),
    () => json.replace("{", '{"__proto__":{"isAdmin":true},'),
    () => json.replace("{", '{"constructor":{"prototype":{"isAdmin":true}},'),
    () => json.replace("{", '{"name":1,"name":2,'),
    () => json.replaceAll(/\d+/g, "1e400"),
    () => json.replaceAll(/\d+/g, "9".repeat(400)),
    () => json.replaceAll('"', "'"),
    () => json.replace('"', '"\\ud800'),
    () => Buffer.concat([Buffer.from(json.slice(0, -1)), Buffer.from([0xff, 0xfe, 0x80])]),
    () => "[".repeat(random.pick([201, 5000, 100_000])),
    () => `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
    () => "",
    () => "null",
    () => '"text"',
    () => "[]",
    () => "0",
    () => `{"a":"${"x".repeat(1_100_000)}"}`,
    () => `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join(",")}}`,
  ])();
}
