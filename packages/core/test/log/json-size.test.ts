import { expect, test } from "vitest";
import { jsonSize, longText } from "../../src/log/json-size.ts";

test.each([
  ["a text", "Hello"],
  ["nothing", undefined],
  [
    "a list of blocks",
    [
      { type: "text", text: "a\nb" },
      { type: "image", source: { data: "QUJD" } },
    ],
  ],
  ["null and numbers", { a: null, b: [1, 2.5], c: true }],
])("the size of %s equals the length of its JSON", (_, value) => {
  expect(jsonSize(value)).toBe(JSON.stringify(value)?.length ?? 0);
  expect(longText(value)).toBe(0);
});

test("long strings are measured in characters, at any depth of a value", () => {
  const long = "x".repeat(100_000);
  const value = [{ type: "document", source: { data: long } }, { type: "text", text: "short" }, long];
  expect(jsonSize(value)).toBe(JSON.stringify(value).length);
  expect(jsonSize(long)).toBe(JSON.stringify(long).length);
  expect(longText(value)).toBe(200_000);
});
