import { describe, expect, test } from "vitest";
import { csvOf } from "../src/ui/csv.ts";
import { duration, money, short } from "../src/ui/amounts.ts";
import { unifiedLines } from "../src/text/difference-lines.ts";
import { lineChanges } from "../src/text/line-changes.ts";
import { markdownBlocks } from "../src/text/markdown-blocks.ts";
import { shownLine, visible } from "../src/text/safe-text.ts";
import { timeTicks } from "../src/session/time-ticks.ts";
import { terminalPieces } from "../src/text/terminal-lines.ts";
import { stateOf } from "../src/ui/session-state.ts";

const DONE = { activity: "idle", outcome: "completed", total_runs: 1 } as const;

test.each([
  ["whose last run completed is done", DONE, "done"],
  ["with a prompt that waits for a worker is queued", { ...DONE, has_queued_prompt: true }, "queued"],
  [
    "with a run is running, also with another prompt",
    { ...DONE, activity: "running", has_queued_prompt: true },
    "running",
  ],
  ["that awaits an answer waits for a person", { ...DONE, activity: "awaiting" }, "waiting"],
  ["without a run is idle", { activity: "idle", outcome: null, total_runs: 0 }, "idle"],
] as const)("a listed session %s", (_, session, state) => {
  expect(stateOf(session)).toBe(state);
});

test.each([
  ["a third of a second", [0, 300], ["0", "50 ms", "100 ms", "150 ms", "200 ms", "250 ms", "300 ms"]],
  ["three seconds", [0, 3000], ["0", "0.5 s", "1 s", "1.5 s", "2 s", "2.5 s", "3 s"]],
  ["six minutes", [0, 360_000], ["0", "1 min", "2 min", "3 min", "4 min", "5 min", "6 min"]],
  ["ninety seconds", [0, 90_000], ["0", "15 s", "30 s", "45 s", "1 min", "1 min 15 s", "1 min 30 s"]],
  ["less than a second, after the first hour", [3_600_900, 3_601_600], ["1 h 1 s", "1 h 1.1 s", "1 h 1.2 s"]],
  ["ten hours", [0, 36_000_000], ["0", "2 h", "4 h", "6 h", "8 h", "10 h"]],
] as const)("the time axis of %s has round steps, and no two marks have the same label", (_, [from, to], labels) => {
  const ticks = timeTicks(from, to).map(({ label }) => label);
  expect(ticks).toEqual(expect.arrayContaining([...labels]));
  expect(new Set(ticks).size).toBe(ticks.length);
  expect(ticks.length).toBeLessThanOrEqual(8);
});

const shown = (output: string): string =>
  terminalPieces(output)
    .map(({ text }) => text)
    .join("");

describe("terminal output", () => {
  test.each([
    ["a colour sequence is not shown", "\u001b[31mred\u001b[0m", "red"],
    ["the clipboard sequence is removed", "a\u001b]52;c;ZXZpbA==\u0007b", "ab"],
    ["a link sequence is removed", "\u001b]8;;file:///etc/passwd\u0007x\u001b]8;;\u0007", "x"],
    ["a title sequence without its end is removed", "a\u001b]0;title", "a"],
    ["the sequence that clears the screen is removed", "a\u001b[2J\u001b[Hb", "ab"],
    ["an 8-bit control sequence is removed", "a\u009b31mb\u009b0m", "ab"],
    ["a device control string is removed", "a\u001bP1$r0m\u001b\\b", "ab"],
    ["an overwritten line shows its last text", "10 %\r20 %\rdone", "done"],
    ["a character that reverses the text direction is shown as its code", "a\u202egnp.exe", "a⟨202E⟩gnp.exe"],
    ["a lone escape character is shown as its code", "a\u001bb", "a⟨001B⟩b"],
  ])("%s", (_, output, expected) => expect(shown(output)).toBe(expected));

  test("red text of a terminal gets the CSS class red", () => {
    expect(terminalPieces("\u001b[31mred\u001b[0m")[0]).toEqual({ text: "red", className: "red" });
  });
});

test.each([
  ["zero width", "a\u200bb", "a⟨200B⟩b"],
  ["a tag character", "a\u{e0041}b", "a⟨E0041⟩b"],
  ["a joined emoji stays", "👩‍💻", "👩‍💻"],
  ["tab and line break stay", "a\tb\nc", "a\tb\nc"],
])("hidden characters are made visible: %s", (_, text, expected) => expect(visible(text)).toBe(expected));

describe("Markdown is cut into blocks", () => {
  test.each([
    ["paragraphs", "a\n\nb", 2],
    ["a fence with blank lines is one block", "```ts\na\n\nb\n```\n\nc", 2],
    ["a fence that is not closed yet is one block", "a\n\n```\nb\n\nc", 2],
    ["a list with blank lines is one block", "- a\n\n- b\n\n- c\n\nd", 2],
    ["an indented paragraph belongs to its list", "1. a\n\n   more\n\n2. b", 1],
  ])("%s", (_, text, count) => {
    expect(markdownBlocks(text)).toHaveLength(count);
    expect(markdownBlocks(text).join("\n").replaceAll("\n", "")).toBe(text.replaceAll("\n", ""));
  });

  test("when a Markdown text grows, only its last block changes", () => {
    const before = markdownBlocks("one\n\ntwo\n\nthr");
    const after = markdownBlocks("one\n\ntwo\n\nthree and more");
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
  });
});

test.each([
  [0, "$0"],
  [300, "< $0.001"],
  [17_400, "$0.017"],
  [200_000, "$0.20"],
  [1_234_560_000, "$1,234.56"],
])("%i millionths of a dollar are %s", (micros, text) => expect(money(micros)).toBe(text));

test.each([
  [42, "42 ms"],
  [120, "0.1 s"],
  [14_000, "14 s"],
  [252_000, "4 min 12 s"],
  [3_840_000, "1 h 04 min"],
])("%i ms are %s", (ms, text) => expect(duration(ms)).toBe(text));

test.each([
  [950, "950"],
  [24_600, "24.6 k"],
  [118_000_000, "118 M"],
])("the count %i is shown as %s", (count, text) => expect(short(count)).toBe(text));

test("the added and removed lines of an edit are counted", () => {
  expect(lineChanges({ old_string: "a\nb\nc\n", new_string: "a\nx\ny\nc\n" })).toEqual({ added: 2, removed: 1 });
  expect(lineChanges({ file_path: "x", content: "a\nb\n" })).toEqual({ added: 2, removed: 0 });
  expect(lineChanges(null)).toEqual({ added: 0, removed: 0 });
});

test("in CSV, a text that a spreadsheet would run as a formula gets an apostrophe in front", () => {
  expect(csvOf(["a"], [["=1+1"], ['say "x"'], [-3]])).toBe('a\r\n\'=1+1\r\n"say ""x"""\r\n-3');
});

test("a line of megabytes is cut, with a note about how much is missing", () => {
  const line = shownLine("x".repeat(20_000_000));
  expect(line).toHaveLength(4000 + " … 19,996,000 more characters".length);
  expect(line.endsWith(" … 19,996,000 more characters")).toBe(true);
});

test("a unified diff has the line numbers of both files, and pairs a removed line with its replacement", () => {
  const diff =
    "--- a/x.ts\n+++ b/x.ts\n@@ -3,3 +3,3 @@\n same\n-const a = 1;\n+const a = 2;\n@@ -20,1 +20,2 @@\n last\n+--- not a name\n";
  expect(unifiedLines(diff)).toEqual([
    { sign: " ", text: "same", number: 3 },
    { sign: "-", text: "const a = 1;", number: 4, pair: "const a = 2;" },
    { sign: "+", text: "const a = 2;", number: 4, pair: "const a = 1;" },
    { sign: " ", text: "last", number: 20 },
    { sign: "+", text: "--- not a name", number: 21 },
  ]);
});
