/** Tests lines with JSON that a parser must accept, must reject, or may accept or reject. */
import { describe, expect, test } from "vitest";
import type { Damage } from "../src/scan/parse-line.ts";
import { getUsage, listSessions, readLines, searchSessions } from "../src/index.ts";
import { conversation, createDataDirectory, jsonLines, sessionId } from "./data-directory.ts";

const text = (value: string): Buffer => Buffer.from(value);
const bytes = (...values: readonly (string | number)[]): Buffer =>
  Buffer.concat(values.map((value) => (typeof value === "string" ? Buffer.from(value) : Buffer.of(value))));

const accepted: readonly (readonly [string, Buffer, unknown])[] = [
  ["an empty object", text("{}"), {}],
  ["space everywhere", text(' \t{ "a" : [ 1 , 2 ] } \t'), { a: [1, 2] }],
  ["numbers", text('{"a":[0,-0,1e5,1E+2,1.5e-3,123456789012]}'), { a: [0, -0, 1e5, 100, 0.0015, 123456789012] }],
  ["words", text('{"a":[true,false,null]}'), { a: [true, false, null] }],
  ["all escapes", text('{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4"}'), { a: '"\\/\b\f\n\r\tä' }],
  ["a pair of surrogates", text('{"a":"\\ud83d\\ude00"}'), { a: "😀" }],
  ["an escaped NUL", text('{"a":"\\u0000"}'), { a: "\0" }],
  ["an escaped byte order mark", text('{"a":"\\ufeff"}'), { a: "\u{FEFF}" }],
  ["a delete character", text('{"a":"\u007f"}'), { a: "\u007f" }],
  ["line separators of JavaScript", text('{"a":"\u2028\u2029"}'), { a: "\u2028\u2029" }],
  ["noncharacters", text('{"a":"\uffff\u{10ffff}"}'), { a: "\uffff\u{10ffff}" }],
  ["an empty key", text('{"":1}'), { "": 1 }],
  ["a key that occurs twice (the last value counts)", text('{"a":1,"a":2}'), { a: 2 }],
  ["a text that looks like a line", text('{"a":"{\\"type\\":\\"user\\"}"}'), { a: '{"type":"user"}' }],
];

/** Lines that are not JSON. Each line is damage, and all other lines are read. */
const rejected: readonly (readonly [string, Buffer])[] = [
  ["a comma at the end of an object", text('{"a":1,}')],
  ["a comma at the end of a list", text('{"a":[1,]}')],
  ["two commas", text('{"a":[1,,2]}')],
  ["a colon that is missing", text('{"a" 1}')],
  ["two colons", text('{"a"::1}')],
  ["a key without quotes", text("{a:1}")],
  ["single quotes", text("{'a':1}")],
  ["a comment", text('{"a":1}/* x */')],
  ["a number with a zero in front", text('{"a":012}')],
  ["a number with a plus", text('{"a":+1}')],
  ["a number that ends in a point", text('{"a":1.}')],
  ["a number without a digit", text('{"a":-}')],
  ["a hexadecimal number", text('{"a":0x1}')],
  ["not a number", text('{"a":NaN}')],
  ["infinity", text('{"a":Infinity}')],
  ["a word in capitals", text('{"a":True}')],
  ["an unknown escape", text('{"a":"\\x00"}')],
  ["a short escape", text('{"a":"\\u00e"}')],
  ["a raw tab in a text", text('{"a":"\t"}')],
  ["a raw control character", bytes('{"a":"', 0x1f, '"}')],
  ["a text that is not closed", text('{"a":"x}')],
  ["an object that is not closed", text('{"a":{"b":1}')],
  ["a bracket too many", text('{"a":1}}')],
  ["the wrong bracket", text('{"a":[1}')],
  ["a letter after the object", text('{"a":1}x')],
  ["a byte order mark in the middle", text('\u{FEFF}{"a":1}')],
  ["a form feed instead of a space", text('{"a":\f1}')],
  ["a no-break space", text('{"a":\u00a01}')],
  ["only punctuation", text("{{{{")],
  ["a hundred thousand brackets", text("[".repeat(100_000))],
];

/** JSON that is not an object is damage too. */
const notObjects = ["[]", "1", '"x"', "null", "true", "-0", '[{"type":"user"}]'].map(text);

/**
 * Lines that a parser may accept or reject according to the JSON specification. The test ensures that Skein's result
 * does not change.
 */
const undefinedBySpec: readonly (readonly [string, Buffer, unknown, readonly Damage["kind"][]])[] = [
  ["a lone surrogate", text('{"a":"\\ud800"}'), { a: "\ud800" }, []],
  ["surrogates in the wrong order", text('{"a":"\\udc00\\ud800"}'), { a: "\udc00\ud800" }, []],
  ["a number too large", text('{"a":1e999}'), { a: Infinity }, []],
  ["a number too small", text('{"a":1e-999}'), { a: 0 }, []],
  ["an integer that a double cannot hold", text('{"a":100000000000000000001}'), { a: 1e20 }, []],
  ["a byte that is not UTF-8", bytes('{"a":"', 0xff, '"}'), { a: "\u{FFFD}" }, ["invalid-utf8"]],
  ["a cut sequence", bytes('{"a":"', 0xe2, 0x82, '"}'), { a: "\u{FFFD}" }, ["invalid-utf8"]],
  ["an overlong sequence", bytes('{"a":"', 0xc0, 0xaf, '"}'), { a: "\u{FFFD}\u{FFFD}" }, ["invalid-utf8"]],
  ["a surrogate in UTF-8", bytes('{"a":"', 0xed, 0xa0, 0x80, '"}'), { a: "\u{FFFD}".repeat(3) }, ["invalid-utf8"]],
  ["a replacement character in the file", text('{"a":"\u{FFFD}"}'), { a: "\u{FFFD}" }, []],
  ["a raw NUL", bytes('{"a":"x', 0, '"}'), { a: "x" }, ["nul-bytes"]],
  ["depth 5,000", text(`{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`), expect.anything(), []],
];

const before = { type: "tag", sessionId: "s", tag: "before" };
const after = { type: "tag", sessionId: "s", tag: "after" };

/** Puts a line between two valid lines. Returns the values between them, and the damage, which must be in line 2. */
function between(line: Buffer): { values: unknown[]; damage: Damage["kind"][] } {
  const content = Buffer.concat([Buffer.from(jsonLines([before])), line, Buffer.from(`\n${jsonLines([after])}`)]);
  const path = createDataDirectory().write("file.jsonl", content);
  const values: unknown[] = [];
  const damage: Damage["kind"][] = [];
  readLines(path, {
    line: ({ value }) => values.push(value),
    damage(found) {
      expect(found.line).toBe(2);
      damage.push(found.kind);
    },
  });
  expect(values.shift()).toEqual(before);
  expect(values.pop()).toEqual(after);
  return { values, damage };
}

describe("a line", () => {
  test.each(accepted)("a line with valid JSON is read: %s", (_, line, value) => {
    expect(between(line)).toEqual({ values: [value], damage: [] });
  });

  test.each(rejected)("a line with invalid JSON is damage, and the next lines are read: %s", (_, line) => {
    expect(between(line)).toEqual({ values: [], damage: ["not-json"] });
  });

  test.each(notObjects)("a line with JSON that is not an object is damage: %s", (line) => {
    expect(between(line)).toEqual({ values: [], damage: ["not-an-object"] });
  });

  test.each(undefinedBySpec)("a line that the JSON specification leaves open is read: %s", (_, line, value, kinds) => {
    expect(between(line)).toEqual({ values: [value], damage: kinds });
  });
});

test("lists, usage and searches read the lines after each valid or invalid line", async () => {
  const data = createDataDirectory();
  const talk = conversation();
  const lines = [...accepted.map(([, line]) => line), ...rejected.map(([, line]) => line), ...notObjects];
  const content = [text(jsonLines([talk.user("first")])), ...lines.flatMap((line) => [line, text("\n")])];
  data.write(
    `projects/-work-app/${sessionId(1)}.jsonl`,
    Buffer.concat([...content, text(jsonLines([talk.answer("zanzibar")]))]),
  );
  for (const config of [data.config, data.indexed, data.indexed]) {
    expect((await listSessions(config)).data).toMatchObject([{ messageCount: 2, summary: "first" }]);
    expect((await getUsage(config)).totals.calls).toBe(1);
    const { data: matches } = await searchSessions("zanzibar", config);
    expect(matches).toMatchObject([{ fileLine: lines.length + 2 }]);
  }
});
