import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { longLines, writeShortened } from "../src/transcripts/shorten-lines.ts";
import { folder, write } from "./sql.ts";

const MOST = 1.5 * 2 ** 20;
const CUT = 2 ** 20;

const shortened = (line: string): string => {
  const root = folder();
  const path = write(root, "file.jsonl", `{"before":1}\n \r\n${line}\n{"after":1}`);
  const lines = longLines(path, MOST);
  expect(lines).toMatchObject([{ line: 2 }]);
  writeShortened(path, join(root, "short.jsonl"), { lines, most: MOST });
  const [before, blank, short = "", after] = readFileSync(join(root, "short.jsonl"), "utf8").split("\n");
  expect([before, blank, after]).toEqual(['{"before":1}', " \r", '{"after":1}']);
  return short;
};

test.each([
  ["letters", "x", CUT],
  ["letters of two bytes", "é", CUT / 2],
  ["pairs", "😀", CUT / 2],
  ["escapes", '\\"', CUT / 2],
  ["escaped pairs", "\\ud83d\\ude00", Math.ceil(CUT / 12) * 2],
  ["escaped letters", "\\u00e9", Math.ceil(CUT / 6)],
])("a long text of %s is cut between two characters, and the rest of the line stays", (_, letter, length) => {
  const short = JSON.parse(shortened(`{"text":"${letter.repeat(2 ** 21)}","next":"a\\"b","last":[1]}`)) as {
    text: string;
  };
  expect(short).toMatchObject({ next: 'a"b', last: [1] });
  expect(short.text.length).toBe(length);
  expect(short.text.isWellFormed()).toBe(true);
});

test("a line that is too long and has no long text is cut to its first 1000 bytes", () => {
  expect(shortened(`{"numbers":[${"1,".repeat(2 ** 20)}1]}`)).toBe(`{"numbers":[${"1,".repeat(494)}`);
});
