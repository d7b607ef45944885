import { expect, test } from "vitest";
import { isLargeJson, jsonPieces } from "../../src/log/json-pieces.ts";

const MIB = 1024 * 1024;

test.each([
  ["a short value", { a: [1, null, "x\n"], b: undefined }],
  ["a long string alone", "x".repeat(MIB)],
  ["several long strings", [{ data: "a".repeat(100_000) }, "short", { deep: { data: '"\\\n'.repeat(100_000) } }]],
  ["a pair of surrogates at the end of each piece", { text: `a${"😀".repeat(300_000)}` }],
  ["lone surrogates", { text: "\ud83d".repeat(300_000) }],
  ["a high surrogate as the last character", { text: `${"a".repeat(256 * 1024 - 1)}\ud83d` }],
  ["a lone high surrogate before a pair", { text: `${"a".repeat(256 * 1024 - 1)}\ud83d😀` }],
  ["a key that is long", { ["k".repeat(100_000)]: 1 }],
])("the joined pieces of %s are its JSON", (_, value) => {
  expect([...jsonPieces(value)].join("") === JSON.stringify(value)).toBe(true);
});

test("a piece has at most 256 Ki characters of a long string", () => {
  const pieces = [...jsonPieces({ data: "x".repeat(5 * MIB) })];
  expect(Math.max(...pieces.map(({ length }) => length))).toBe(256 * 1024);
});

test("only a value with more than 1 MiB in long strings is large", () => {
  expect(isLargeJson({ data: "x".repeat(MIB) })).toBe(false);
  expect(isLargeJson([{ data: "x".repeat(MIB) }, "y".repeat(100_000)])).toBe(true);
  expect(isLargeJson(Array.from({ length: 100_000 }, () => "short text"))).toBe(false);
});
