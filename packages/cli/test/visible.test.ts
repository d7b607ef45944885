import { describe, expect, test } from "vitest";
import { createVisible, visible, visibleJson, visibleLine } from "../src/terminal/visible-text.ts";
import { shorten } from "../src/terminal/width.ts";

/** Texts that must never reach a terminal unchanged: control sequences, and characters that hide text. */
// oxlint-disable-next-line no-control-regex
const ACTS = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/u;

const ATTACKS: [string, string, string][] = [
  ["a sequence that sets the clipboard", "\u001B]52;c;cm0gLXJm\u0007", "\\x1b]52;c;cm0gLXJm\\x07"],
  [
    "a link to a file",
    "\u001B]8;;file:///etc/passwd\u001B\\click\u001B]8;;\u001B\\",
    "\\x1b]8;;file:///etc/passwd\\x1b\\click\\x1b]8;;\\x1b\\",
  ],
  ["a sequence that clears the screen", "\u001B[2J\u001B[H", "\\x1b[2J\\x1b[H"],
  ["an 8-bit CSI", "\u009B31m", "\\x9b31m"],
  ["an 8-bit OSC that does not end", "\u009D0;title", "\\x9d0;title"],
  ["an OSC that does not end", "\u001B]0;title", "\\x1b]0;title"],
  ["a DCS", "\u001BP1$r\u001B\\", "\\x1bP1$r\\x1b\\"],
  ["an APC and a PM", "\u001B_x\u001B\\\u001B^y\u001B\\", "\\x1b_x\\x1b\\\\x1b^y\\x1b\\"],
  ["a line that is overwritten", "rm -rf /\rls      ", "rm -rf /\\x0dls      "],
  ["characters before backspaces", "evil\b\b\b\bgood", "evil\\x08\\x08\\x08\\x08good"],
  ["text whose direction is reversed", "a\u202Etxt.exe", "a\\u202etxt.exe"],
  ["marks that isolate", "\u2066x\u2069", "\\u2066x\\u2069"],
  ["characters without width", "pass\u200Bword\u2060\uFEFF", "pass\\u200bword\\u2060\\ufeff"],
  ["a joiner inside a word", "pay\u200Dpal", "pay\\u200dpal"],
  ["tag characters", "hi\u{E0041}\u{E007F}", "hi\\u{e0041}\\u{e007f}"],
  ["NUL, bell and DEL", "\0\u0007\u007F", "\\x00\\x07\\x7f"],
  ["half of a surrogate pair", "\uD83D!", "\\ud83d!"],
  ["line separators of Unicode", "a\u2028b\u2029c", "a\\u2028b\\u2029c"],
];

describe("visible", () => {
  test.each(ATTACKS)("%s is shown as an escape and has no effect", (_, attack, shown) => {
    expect(visible(attack)).toBe(shown);
    expect(visible(attack)).not.toMatch(ACTS);
  });

  test.each([
    ["tabs and lines", "a\tb\nc"],
    ["letters of every kind", "naïve 日本語 हिन्दी עברית"],
    ["emoji made with zero-width joiners", "👨‍👩‍👧 👍🏽 ✈️"],
    ["Persian text with zero-width joiners", "می‌خواهم"],
    ["text that looks like an escape", "\\x1b[31m"],
  ])("visible text keeps %s", (_, text) => {
    expect(visible(text)).toBe(text);
  });

  test("Windows line ends are treated as line ends", () => {
    expect(visible("a\r\nb")).toBe("a\nb");
  });

  test("escaping cannot be avoided by repetition or nesting", () => {
    const all = ATTACKS.map(([, attack]) => attack).join("");
    expect(visible(visible(all))).toBe(visible(all));
    expect(visibleLine(`${all}\n`)).not.toContain("\n");
  });
});

describe("text that comes in pieces", () => {
  test.each(ATTACKS)("%s is shown the same wherever the text is cut", (_, attack, shown) => {
    for (let cut = 0; cut <= attack.length; cut++) {
      const stream = createVisible();
      const text = stream.push(attack.slice(0, cut)) + stream.push(attack.slice(cut)) + stream.end();
      expect(text).not.toMatch(ACTS);
      // Whether a joiner is shown depends on the characters before it, which may have been printed already.
      if (!attack.includes("\u200D")) expect(text).toBe(shown);
    }
  });

  test("an emoji that arrives in halves is put together", () => {
    const stream = createVisible();
    expect([stream.push("a\uD83D"), stream.push("\uDE00b"), stream.end()]).toEqual(["a", "😀b", ""]);
  });
});

test("JSON keeps its value and contains no character that acts on a terminal", () => {
  const value = { text: ATTACKS.map(([, attack]) => attack).join("") };
  expect(visibleJson(value)).not.toMatch(ACTS);
  expect(JSON.parse(visibleJson(value))).toEqual(value);
});

test.each([
  ["short", 10, "short"],
  ["a long line of words", 10, "a long li…"],
  ["two\nlines", 20, "two lines"],
  ["\u001B[2Jx", 20, "\\x1b[2Jx"],
  ["日本語日本語", 7, "日本語…"],
  [`a${" ".repeat(1000)}b`, 20, "a…"],
])("shorten(%j, %d)", (text, length, shown) => {
  expect(shorten(text, length)).toBe(shown);
});
