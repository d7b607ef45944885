import { expect, test } from "vitest";
import { createShapeCheck } from "../../src/http/json-shape.ts";

const SHAPE = { depth: 3, entries: 4, values: 10 };

/** Checks a text in pieces of this length, and returns the problem. */
function problemOf(text: string, length: number): string | undefined {
  const check = createShapeCheck(SHAPE);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += length) {
    const problem = check(bytes.subarray(at, at + length));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

test.each([
  ["nothing too much", '{"a":[1,2,3,4],"b":{"c":[]}}', undefined],
  ["one level too many", "[[[[", /deeper than 3/],
  ["levels in a text", '{"a":"[[[[[[,,,,,,{{{"}', undefined],
  ["a quote in a text", String.raw`{"a":"\"[[[[[\\","b":"\\\"[[[["}`, undefined],
  ["a text that ends with a backslash", String.raw`["\\",[[[`, /deeper than 3/],
  ["one entry too many", "[1,2,3,4,5]", /more than 4 entries/],
  ["one key too many", '{"a":1,"b":2,"c":3,"d":4,"e":5}', /more than 4 entries/],
  ["several lists inside a list", "[[1,2],[1,2],[1]]", undefined],
  ["too many values in all", "[[1,2,3],[1,2,3],[1,2,3]]", /more than 10 values/],
  ["letters of several bytes", '["üüü🌍","\u005b[[[["]', undefined],
])("the check of a body gives the same result for pieces of any length: %s", (_, text, expected) => {
  for (let length = 1; length <= text.length; length++) {
    const problem = problemOf(text, length);
    if (expected) expect(problem).toMatch(expected);
    else expect(problem).toBeUndefined();
  }
});
