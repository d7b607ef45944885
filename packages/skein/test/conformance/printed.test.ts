import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { printConformance } from "./print-conformance.ts";
import { LISTS } from "./lists.ts";

test("docs/reference/conformance.md is what the lists print; `npm run conformance` prints it", () => {
  const page = readFileSync(new URL("../../../../docs/reference/conformance.md", import.meta.url), "utf8");
  expect(page).toBe(printConformance(LISTS));
});

test("no line of a specification is listed twice at one place", () => {
  for (const { part, lines } of LISTS) {
    const said = lines.map(({ at, what }) => `${part} ${at}: ${what}`);
    expect(said.filter((line, index) => said.indexOf(line) !== index)).toEqual([]);
  }
});
