import { expect, test } from "vitest";
import { lineDiff } from "../../src/runtimes/claude-code/changes/line-diff.ts";

const lines = (...names: readonly string[]): string => names.map((name) => `${name}\n`).join("");

test.each([
  ["equal texts", lines("a"), lines("a"), ""],
  ["a new file", "", lines("a", "b"), "@@ -0,0 +1,2 @@\n+a\n+b\n"],
  ["an emptied file", lines("a"), "", "@@ -1,1 +0,0 @@\n-a\n"],
  ["a changed line", lines("a", "b", "c"), lines("a", "x", "c"), "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"],
  ["a missing line break at the end", "a", lines("a"), "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"],
])("the diff of %s is in the unified format", (_, before, after, text) => {
  expect(lineDiff(before, after).text).toBe(text);
});

test("changes that are far apart become two hunks, each with its position", () => {
  const before = Array.from({ length: 30 }, (_, index) => String(index));
  const after = before.toSpliced(25, 1, "y").toSpliced(2, 0, "x");
  const { insertions, deletions, text } = lineDiff(lines(...before), lines(...after));
  expect([insertions, deletions]).toEqual([2, 1]);
  expect(text.match(/^@@.*$/gm)).toEqual(["@@ -1,5 +1,6 @@", "@@ -23,7 +24,7 @@"]);
});

test("the diff of two random texts turns the first text into the second", () => {
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let round = 0; round < 200; round += 1) {
    const text = (): readonly string[] => Array.from({ length: random(12) }, () => "abc"[random(3)] ?? "");
    const [before, after] = [text(), text()];
    const { text: diff } = lineDiff(lines(...before), lines(...after));
    expect(patched(before, diff)).toEqual(after);
  }
});

/** Applies a patch to a text. Throws if the patch does not fit. */
function patched(before: readonly string[], diff: string): readonly string[] {
  const after: string[] = [];
  let place = 0;
  for (const line of diff.split("\n").slice(0, -1)) {
    const start = /^@@ -(\d+),(\d+)/.exec(line);
    if (start) {
      const first = Number(start[1]) - (Number(start[2]) === 0 ? 0 : 1);
      after.push(...before.slice(place, first));
      place = first;
    } else if (line.startsWith("+")) after.push(line.slice(1));
    else {
      if (before[place] !== line.slice(1)) throw new Error(`The patch does not fit at line ${place + 1}: ${line}`);
      if (line.startsWith(" ")) after.push(line.slice(1));
      place += 1;
    }
  }
  return [...after, ...before.slice(place)];
}
