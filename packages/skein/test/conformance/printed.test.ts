import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { printConformance } from "./print-conformance.ts";
import { LISTS } from "./lists.ts";

test("docs/reference/conformance.md is the output of `npm run conformance`", () => {
  const page = readFileSync(new URL("../../../../docs/reference/conformance.md", import.meta.url), "utf8");
  expect(page).toBe(printConformance(LISTS));
});

test("a section of a conformance list has each line only once", () => {
  for (const { part, lines } of LISTS) {
    const said = lines.map(({ at, what }) => `${part} ${at}: ${what}`);
    expect(said.filter((line, index) => said.indexOf(line) !== index)).toEqual([]);
  }
});
