import { readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { skein } from "../src/main.ts";
import { type Command, type Option, asksFor, defineCommand, parse } from "../src/terminal/command.ts";
import type { Group } from "../src/terminal/command.ts";
import { helpOf } from "../src/terminal/help.ts";
import { dollars, oneOf, wholeNumber } from "../src/terminal/option-kinds.ts";
import { nearestName } from "@skein/protocol";

const weave = defineCommand({
  name: "weave",
  summary: "Weave.",
  words: '"PATTERN" [LOOM]',
  options: {
    limit: { takes: "N", short: "n", kind: wholeNumber(1, 9), about: "At most so many" },
    colour: { takes: "COLOUR", several: true, kind: oneOf("red", "blue"), about: "Of this colour" },
    title: { takes: "TEXT", about: "Its title" },
    fast: { about: "Soon" },
    index: { isOn: true, about: "Keep no index" },
  },
  examples: ["skein weave x"],
  run: async () => 0,
});
const plain = { fast: false, index: true, help: false };

test.each([
  [["x"], ["x"], plain],
  [["x", "y", "--fast"], ["x", "y"], { ...plain, fast: true }],
  [["--limit", "3", "x"], ["x"], { ...plain, limit: 3 }],
  [["-n", "3", "x"], ["x"], { ...plain, limit: 3 }],
  [["--limit=3", "x", "--no-index"], ["x"], { ...plain, limit: 3, index: false }],
  [["x", "--colour", "red", "--colour", "blue"], ["x"], { ...plain, colour: ["red", "blue"] }],
  [["x", "--title=-dashed"], ["x"], { ...plain, title: "-dashed" }],
  // An argument that begins with a dash and contains a space is text.
  [["- one\n- two", "--title", "-- a comment"], ["- one\n- two"], { ...plain, title: "-- a comment" }],
  [["x", "--", "--fast"], ["x", "--fast"], plain],
])("the arguments %j are parsed", (args, words, values) => {
  expect(parse(weave, args)).toEqual({ words, values });
});

test.each([
  [["x", "--limt", "3"], "skein weave has no option --limt. Did you mean --limit?"],
  [["x", "--frobnicate"], "skein weave has no option --frobnicate."],
  [["x", "-z"], "skein weave has no option -z."],
  [["x", "--no-fast"], "skein weave has no option --no-fast."],
  [["x", "--no-inedx"], "skein weave has no option --no-inedx. Did you mean --no-index?"],
  [["x", "--constructor"], "skein weave has no option --constructor."],
  [["x", "--limit"], "--limit needs a value: --limit N."],
  [
    ["x", "--limit", "--fast"],
    "--limit needs a value: --limit N. Write a value that begins with a dash as --limit=--fast.",
  ],
  [["x", "--limit", "10"], '--limit takes a whole number from 1 to 9, not "10".'],
  [["x", "--colour", "green"], '--colour takes red, blue, not "green".'],
  [["x", "--fast=yes"], "--fast takes no value."],
  [[], 'Expected "PATTERN" [LOOM], and got nothing.'],
  [["x", "y", "z"], 'Expected "PATTERN" [LOOM], and got 3 words. Put it into quotes.'],
])("%j is rejected with an error message", (args, sentence) => {
  expect(() => parse(weave, args)).toThrow(expect.objectContaining({ message: sentence, exitCode: 2 }) as Error);
});

test("--help is found among invalid arguments, but not after --", () => {
  expect(asksFor("help", ["--frob", "--help"])).toBe(true);
  expect(asksFor("help", ["-h"])).toBe(true);
  expect(asksFor("help", ["--", "--help"])).toBe(false);
});

test.each([
  ["0.05", 50_000],
  ["$2", 2_000_000],
  [".5", 500_000],
  ["", undefined],
  ["-1", undefined],
  ["1e3", undefined],
  ["much", undefined],
])("%j as an amount of dollars gives %j millionths of a dollar", (text, micros) => {
  expect(dollars.read(text)).toBe(micros);
});

test.each([
  ["lst", "list"],
  ["shwo", "show"],
  ["sessoin", "session"],
  ["x", undefined],
  ["entirely", undefined],
])("for %s the error suggests %s", (word, name) => {
  expect(nearestName(word, ["list", "show", "session", "delete"])).toBe(name);
});

/** Lists the commands of a group and of all groups inside it. */
async function everyCommand(group: Group): Promise<readonly Command[]> {
  const found: Command[] = [];
  for (const entry of group.commands) {
    const one = "load" in entry ? await entry.load() : entry;
    found.push(...("commands" in one ? await everyCommand(one) : [one]));
  }
  return found;
}

test("a command for a server rejects --key, and the error names the variable for the key", () => {
  const remote = defineCommand({ ...weave, options: { server: { takes: "URL", about: "The server" } } });
  expect(() => parse(remote, ["x", "--key", "secret"])).toThrow(
    "skein weave has no option --key. Set SKEIN_API_KEY to the key.",
  );
  expect(() => parse(weave, ["x", "--key", "secret"])).toThrow(/has no option --key\.$/);
});

test("every command rejects an unknown option with the same sentence and has a help text that fits a narrow terminal", async () => {
  const commands = await everyCommand(skein);
  expect(commands.length).toBeGreaterThan(30);
  for (const command of commands) {
    expect(() => parse(command, ["--frobnicate"])).toThrow(`skein ${command.name} has no option --frobnicate.`);
    const narrow = helpOf(command, 40).split("\n");
    // Text that is typed or quoted literally is not broken into lines.
    const long = narrow.filter((line) => line.length > 40 && !/^ +(skein|git|claude|-)|^Usage:/.test(line));
    expect([command.name, long]).toEqual([command.name, []]);
    expect(helpOf(command, 100)).toMatch(new RegExp(`Usage:\\s+skein ${command.name}[^]+Options:[^]+Examples:\n {2}`));
  }
});

test("an option has one meaning: the same name takes the same value and letter in every command", async () => {
  const names = new Map<string, string>();
  const letters = new Map<string, string>();
  for (const { name: command, options = {} } of await everyCommand(skein))
    for (const [name, { takes, short }] of Object.entries<Option>(options)) {
      const shape = JSON.stringify([takes, short]);
      expect([command, name, names.get(name) ?? shape]).toEqual([command, name, shape]);
      names.set(name, shape);
      if (short === undefined) continue;
      expect([command, short, letters.get(short) ?? name]).toEqual([command, short, name]);
      letters.set(short, name);
    }
  // Options had these names earlier. No option may have them now.
  for (const gone of ["before", "out", "html", "index", "agents", "csv", "parquet"])
    expect(names.has(gone), gone).toBe(false);
});

test("every example in a help and in the documents is a call that the command accepts", async () => {
  const commands = new Map((await everyCommand(skein)).map((command) => [command.name, command]));
  const examples = [...commands.values()].flatMap(({ examples: lines }) =>
    lines.map((line) => (typeof line === "string" ? line : line[0])),
  );
  const folder = new URL("../../../docs/", import.meta.url);
  const documented = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .flatMap((file) => [...readFileSync(new URL(file, folder), "utf8").matchAll(/^(?:\$ )?(skein [a-z].*)$/gm)])
    .map(([, line = ""]) => line);
  expect(documented.length).toBeGreaterThan(10);
  for (const line of [...examples, ...documented].filter((text) => text.startsWith("skein "))) {
    const words = shellWords(line);
    const command = commands.get(words.slice(1, 3).join(" ")) ?? commands.get(words[1] ?? "");
    if (!command) continue;
    const args = words.slice(1 + command.name.split(" ").length);
    expect(() => parse(command, args), line).not.toThrow();
  }
});

/** Splits a line into words like a shell, up to a pipe, a redirection or a comment. */
function shellWords(line: string): readonly string[] {
  const words = [...line.matchAll(/(?:"(?:\\.|[^"\\])*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word);
  const end = words.findIndex((word) => /^(\||>|<|#|&|;)/.test(word));
  return (end < 0 ? words : words.slice(0, end)).map((word) =>
    word.replaceAll(
      /"((?:\\.|[^"\\])*)"|'([^']*)'/g,
      (_, double: string | undefined, single: string | undefined) => double ?? single ?? "",
    ),
  );
}
