import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { printSeeds } from "./print-seeds.ts";
import { SEEDS } from "./seeds.ts";

test("docs/seeds.md is what the lists print; `npm run seeds` prints it", () => {
  const page = readFileSync(new URL("../../../../docs/seeds.md", import.meta.url), "utf8");
  expect(page).toBe(printSeeds(SEEDS));
});

test("no line of a seed is listed twice at one place", () => {
  for (const { number, lines } of SEEDS) {
    const said = lines.map(({ at, what }) => `${number} ${at}: ${what}`);
    expect(said.filter((line, index) => said.indexOf(line) !== index)).toEqual([]);
  }
});
