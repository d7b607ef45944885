import { expect, test } from "vitest";
import { jsonPieces } from "../src/terminal/json-pieces.ts";
import { visibleJson } from "../src/terminal/visible-text.ts";

test.each([
  [
    "a report with lists of objects",
    {
      total: 1,
      days: [
        { date: "x", models: [{ a: 1 }] },
        { date: "y", models: [] },
      ],
    },
  ],
  ["values that JSON leaves out", { a: undefined, b: () => 1, c: [undefined, null], d: Symbol("x"), e: {} }],
  ["dates and objects with toJSON", { at: new Date(0), list: [new Date(1)], own: { toJSON: () => ({ x: [1] }) } }],
  ["texts with line feeds and escapes", { "a\nb": ["x\ny", "\u001b[31m\u202e"] }],
  ["a list", [[1, [2, { three: 3 }]], "four"]],
  ["a text", "one"],
  ["null", null],
  ["an empty object", {}],
])("the pieces of %s together are its whole JSON", (_, value) => {
  for (const indent of [0, 2]) expect([...jsonPieces(value, indent)].join("")).toBe(visibleJson(value, indent));
});

test("a large list is written in several pieces", () => {
  const value = { list: Array.from({ length: 10_000 }, (_, at) => ({ at, text: "some text" })) };
  const pieces = [...jsonPieces(value, 2)];
  expect(pieces.join("")).toBe(visibleJson(value, 2));
  expect(pieces.length).toBeGreaterThan(5);
});
