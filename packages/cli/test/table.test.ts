import { expect, test } from "vitest";
import { createTextPaint } from "../src/terminal/styled.ts";
import type { Screen } from "../src/terminal/screen.ts";
import { printTable } from "../src/terminal/table.ts";

test("columns line up under wide letters, without control characters", () => {
  let text = "";
  const paint = createTextPaint(false);
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
  [20, ["ID", "  TITLE", "0199c8f1-a", `  ${"x".repeat(17)}…`, "0199c8f1-b"]],
])("on a terminal of %i columns no line is longer", (tableColumns, expected) => {
  let text = "";
  const paint = createTextPaint(false);
  const screen: Partial<Screen> = { out: (line) => (text += line), paint: { out: paint, note: paint }, tableColumns };
  const rows = [
    ["0199c8f1-a", "x".repeat(50)],
    ["0199c8f1-b", ""],
  ];
  printTable(screen as Screen, ["ID", "TITLE"], rows);
  expect(text.trimEnd().split("\n")).toEqual(expected);
});

test("on a narrow terminal, ids are shortened, and columns that do not fit are put below", () => {
  let text = "";
  const paint = createTextPaint(false);
  const screen: Partial<Screen> = { out: (line) => (text += line), paint: { out: paint, note: paint } };
  const id = "01a1e0de-d376-74f4-8fb3-0b98aefd9f80";
  const titles = ["ID", "STATUS", "UPDATED", "TITLE"];
  const rows = [
    [id, "completed", "2026-11-15 20:21Z", "A longer title than there is room for"],
    [id, "running", "2026-11-15 20:21Z", ""],
  ];
  printTable({ ...screen, tableColumns: 80 } as Screen, titles, rows);
  expect(text.split("\n")[1]).toBe("01a1e0de-d376 completed 2026-11-15 20:21Z A longer title than there is room for");
  text = "";
  printTable({ ...screen, tableColumns: 40 } as Screen, titles, rows);
  expect(text.trimEnd().split("\n")).toEqual([
    "ID            STATUS",
    "  UPDATED           TITLE",
    "01a1e0de-d376 completed",
    "  2026-11-15 20:21Z A longer title than…",
    "01a1e0de-d376 running",
    "  2026-11-15 20:21Z",
  ]);
});
