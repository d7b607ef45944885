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
