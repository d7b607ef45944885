import { expect, test } from "vitest";
import { createPaint } from "../../src/terminal/paint.ts";
import type { Screen } from "../../src/terminal/screen.ts";
import { printTable } from "../../src/terminal/table.ts";

test("columns line up under wide letters, and nothing raw gets through", () => {
  let text = "";
  const paint = createPaint(false);
  const screen = { out: (line) => (text += line), paint: { out: paint, note: paint } } as Partial<Screen> as Screen;
  printTable(
    screen,
    ["title", "status"],
    [
      ["日本語", "idle"],
      ["a\u001B[2Jb", "idle"],
    ],
  );
  expect(text.split("\n")).toEqual(["title      status", "日本語     idle", "a\\x1b[2Jb  idle", ""]);
});

test.each([
  [40, ["ID         TITLE", `0199c8f1-a ${"x".repeat(28)}…`, "0199c8f1-b"]],
  [62, ["ID          TITLE", `0199c8f1-a  ${"x".repeat(50)}`, "0199c8f1-b"]],
  [34, ["ID         TITLE", `0199c8f1-a ${"x".repeat(22)}…`, "0199c8f1-b"]],
  [20, ["ID         TITLE", `0199c8f1-a`, `  ${"x".repeat(17)}…`, "0199c8f1-b"]],
])("on a terminal of %i columns no line is longer", (tableColumns, expected) => {
  let text = "";
  const paint = createPaint(false);
  const screen: Partial<Screen> = { out: (line) => (text += line), paint: { out: paint, note: paint }, tableColumns };
  const rows = [
    ["0199c8f1-a", "x".repeat(50)],
    ["0199c8f1-b", ""],
  ];
  printTable(screen as Screen, ["ID", "TITLE"], rows);
  expect(text.trimEnd().split("\n")).toEqual(expected);
});
