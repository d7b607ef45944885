import { describe, expect, test } from "vitest";
import { bitmapOf, gramsIn, hasAll } from "../src/search/bitmap.ts";
import { gramsFacet, stretchesIn, wantedOf } from "../src/search/grams.ts";
import { createByteSearch } from "../src/scan/byte-search.ts";

/**
 * Tests the search index of a file: bitmaps of the byte sequences in its texts, and the weight of a text, which is
 * highest for prompts.
 */

const none = new Uint8Array(0);
const third = 0.36;

describe("the bitmap of a text", () => {
  test("a bitmap keeps every sequence when it grows", () => {
    const texts = Array.from({ length: 300 }, (_, at) => `word${at * 7919} 検索${at} ошибка`);
    let bits: Uint8Array = none;
    for (const text of texts) bits = bitmapOf([text], bits, third);
    for (const text of texts) expect(hasAll(bits, gramsIn(text))).toBe(true);
    expect(bits.length).toBeLessThan(4096);
  });

  test("a bitmap excludes most words that its text does not contain", () => {
    const bits = bitmapOf([Array.from({ length: 4000 }, (_, at) => `name${at}`).join(" ")], none, third);
    const absent = Array.from({ length: 500 }, (_, at) => `zq${at}xw検`);
    expect(absent.filter((word) => hasAll(bits, gramsIn(word))).length).toBeLessThan(10);
  });

  test("a bitmap excludes most words of three letters that its text does not contain", () => {
    const text = Array.from({ length: 3000 }, (_, at) => `name${at * 7919}`).join(" ");
    const bits = bitmapOf([text], none, third);
    const letters = "bcdfghjklpqrstvwxyz".split("");
    const absent = letters.flatMap((a) => letters.map((b) => `${a}${b}q`));
    expect(absent.filter((word) => hasAll(bits, gramsIn(word))).length).toBeLessThan(absent.length * 0.08);
  });

  test("without texts the bitmap is empty, and a word of two bytes has no sequence", () => {
    expect(bitmapOf([], none, third)).toHaveLength(0);
    expect(gramsIn("of")).toEqual([]);
  });
});

describe("the index of a file", () => {
  const lines = [
    { type: "user", uuid: "u1", parentUuid: null, message: { role: "user", content: "Fix the parser" } },
    {
      type: "assistant",
      uuid: "a1",
      parentUuid: "u1",
      message: { content: [{ type: "text", text: "It was a comma" }] },
    },
    {
      type: "user",
      uuid: "u2",
      message: { content: [{ type: "tool_result", tool_use_id: "t", content: "kaleidoscope" }] },
      toolUseResult: { stdout: "hidden copy" },
    },
  ];
  const data = encoded(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const weightsOf = (...words: string[]): number[] =>
    stretchesIn(data, wantedOf(words)).stretches.map(({ weight }) => weight);

  test("a part of a file has the weight of its best text that may match", () => {
    expect(weightsOf("parser")).toEqual([5]);
    expect(weightsOf("comma")).toEqual([4]);
    expect(weightsOf("kaleidoscope")).toEqual([1]);
    expect(weightsOf("comma", "parser")).toEqual([5]);
    expect(weightsOf("comma", "absent")).toEqual([]);
  });

  test("a part of a file has the latest time of its best texts, or no time if one of their lines has none", () => {
    const timed = encoded(
      [
        { type: "user", timestamp: "2026-11-01T10:00:00.000Z", message: { content: "Fix the parser" } },
        { type: "assistant", timestamp: "2026-11-03T10:00:00.000Z", message: { content: "It was a comma" } },
        { type: "summary", summary: "Undated" },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    );
    const latest = (word: string): number | undefined => stretchesIn(timed, wantedOf([word])).stretches[0]?.latest;
    expect(latest("parser")).toBe(Date.parse("2026-11-01T10:00:00.000Z"));
    expect(latest("comma")).toBe(Date.parse("2026-11-03T10:00:00.000Z"));
    expect(latest("undated")).toBe(Infinity);
  });

  test("the index contains no keys, no ids and no second copy of a result", () => {
    for (const word of ["parentuuid", "tool_use_id", "hidden copy"]) expect(weightsOf(word)).toEqual([]);
  });

  test("a line that is not JSON is in the index", () => {
    const torn = encoded('{"type":"user","message":{"content":"torn kaleidoscope\n');
    expect(stretchesIn(torn, wantedOf(["kaleidoscope"])).stretches).toHaveLength(1);
  });
});

function encoded(text: string): Uint8Array {
  const search = createByteSearch();
  const state = gramsFacet.start();
  const bytes = Buffer.from(text);
  gramsFacet.fold(
    state,
    { bytes, start: 0, end: bytes.length, offset: 0, tooLong: false, unterminated: false },
    search,
  );
  return gramsFacet.encode(state);
}
