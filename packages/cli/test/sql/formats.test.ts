import { expect, test } from "vitest";
import { createFormatter } from "../../src/commands/sql/formats.ts";
import { explained } from "../../src/terminal/help.ts";

const columns = ["session_id", "title", "answer"].map((name) => ({ name, type: "VARCHAR" }));
const id = "d03eb6ed-a866-4e7c-80cd-899478bdbbc9";
const rows = [
  [id, "A title of some length that goes on", `Text that is longer than the line. ${"word ".repeat(12)}`],
  [id, "\u001B[2JShort", ""],
];

function shown(format: "table" | "box" | "line", mustFit: boolean, width = 80): readonly string[] {
  const formatter = createFormatter(format, columns, { width, mustFit });
  return (formatter.rows(rows) + formatter.end()).split("\n");
}

test("a row that does not fit on a terminal is shown line by line in full, without breaking words", () => {
  for (const format of ["table", "box"] as const) {
    const lines = shown(format, true);
    expect(lines).toEqual(shown("line", false));
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines.slice(0, 5)).toEqual([
      `session_id  ${id}`,
      "title       A title of some length that goes on",
      "answer      Text that is longer than the line. word word word word word word",
      "            word word word word word word",
      "",
    ]);
    expect(lines).toContain(String.raw`title       \x1b[2JShort`);
  }
});

test("a row that fits, or is piped, is printed on one line", () => {
  expect(shown("table", true, 200)[0]).toMatch(/^session_id +title +answer$/);
  expect(shown("table", false)[0]).toMatch(/^session_id +title +answer$/);
});

test("names and explanations fit into 80 columns, on the same line if possible", () => {
  const lines = explained(
    [
      ["claude.messages", "One row per message, with everything that was said in it, called in it and answered to it"],
      ["x", "Short"],
    ],
    80,
  );
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(lines).toEqual([
    "  claude.messages  One row per message, with everything that was said in it,",
    "                   called in it and answered to it",
    "  x                Short",
  ]);
});
