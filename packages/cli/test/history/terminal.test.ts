import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { styledText, wrap } from "../../src/terminal/styled.ts";
import { table } from "../../src/terminal/table.ts";
import { visible, visibleJson } from "../../src/terminal/visible-text.ts";
import { shorten, widthOf } from "../../src/terminal/width.ts";
import { parseTime } from "../../src/terminal/parse-time.ts";
import { queryOf } from "../../src/commands/history/search.ts";
import { bin, createWorld, first } from "./world.ts";

/** Runs the command on a terminal that `script` makes. */
function onTerminal(
  world: ReturnType<typeof createWorld>,
  env: Record<string, string>,
  ...args: readonly string[]
): string {
  const command = [process.execPath, bin, "history", ...args, "--root", world.root]
    .map((word) => `'${word}'`)
    .join(" ");
  const { stdout } = spawnSync(
    "script",
    [
      "-qec",
      `stty rows ${env["LINES"] ?? 24} cols ${env["COLUMNS"] ?? 100}; ${command}`,
      join(world.folder, "typescript"),
    ],
    {
      encoding: "utf8",
      env: { ...process.env, ...world.env, TERM: "xterm-256color", COLUMNS: "100", NO_COLOR: "", ...env },
    },
  );
  return stdout;
}

const hasScript = existsSync("/usr/bin/script");

test.skipIf(!hasScript)("on a terminal there are colours, and output longer than a page goes to PAGER", () => {
  const world = createWorld();
  const short = { PAGER: "sed s/^/paged:/", LINES: "2" };
  const out = onTerminal(world, short, "list");
  expect(out).toMatch(/paged:/);
  expect(out).toContain("\u001B[36m");
  expect(onTerminal(world, short, "list", "--no-pager")).not.toContain("paged:");
  expect(onTerminal(world, { ...short, LINES: "24" }, "list")).not.toContain("paged:");
  expect(onTerminal(world, { PAGER: "cat", NO_COLOR: "1" }, "list")).not.toContain("\u001B[3");
});

test.skipIf(!hasScript)("on a terminal no control sequence of a transcript takes effect", () => {
  const world = createWorld();
  for (const args of [["list"], ["show", "0", "--full"], ["export", "0"], ["search", "parser"]]) {
    const out = onTerminal(world, { PAGER: "cat" }, ...args);
    expect(out).toContain(String.raw`\x1b]52;c;`);
    for (const acting of ["\u001B]", "\u001B[2J", "\u009B", "\u202E", "\u200B"]) expect(out).not.toContain(acting);
  }
});

test.skipIf(!hasScript)("on 80 columns, each row of history list and history usage fits on one line", () => {
  const world = createWorld();
  const line = (type: string, payload: object): string =>
    `${JSON.stringify({ timestamp: "2025-08-20T10:00:00.000Z", type, payload })}\n`;
  const large = { input_tokens: 1_234_567_890, cached_input_tokens: 1_200_000_000, output_tokens: 12_345_678 };
  const ids = ["0198c0de-1234-7abc-8000-0000000000ab", "0198c0de-1234-7abd-8000-0000000000ab"];
  for (const id of ids)
    world.write(
      `../codex/sessions/2025/08/20/rollout-2025-08-20T10-00-00-${id}.jsonl`,
      [
        line("session_meta", { id, cwd: "/srv/a/long/way/down/to/the/project", cli_version: "1" }),
        line("turn_context", { turn_id: id, model: "gpt-5-codex" }),
        line("response_item", {
          type: "message",
          role: "user",
          content: [{ type: "input_text", text: "Why? ".repeat(40) }],
        }),
        line("event_msg", { type: "user_message", message: "Why? ".repeat(40) }),
        line("event_msg", { type: "token_count", info: { total_token_usage: large, last_token_usage: large } }),
      ].join(""),
    );
  const terminal = { PAGER: "cat", NO_COLOR: "1", COLUMNS: "80" };
  const lines = (...args: readonly string[]): readonly string[] =>
    onTerminal(world, terminal, ...args, "--root", join(world.folder, "codex"))
      .trimEnd()
      .split("\r\n");
  const list = lines("list");
  expect(list[0]).toMatch(/^#\s+ID\s+AGENT\s+LAST ACTIVE\s.*PROJECT\s+TITLE$/);
  // Ids are shortened, but stay different.
  expect(list.slice(1).flatMap((row) => /\s(0198\S+)\s+codex\s/.exec(row)?.[1] ?? [])).toEqual(
    ids.map((id) => id.slice(0, "0198c0de-1234-7abc".length)),
  );
  const usage = lines("usage");
  // Only numbers that do not fit are shortened.
  expect(usage.find((row) => row.startsWith("2025-08-20"))).toContain("2,400,000,000");
  expect(usage.find((row) => row.startsWith("gpt-5-codex"))).toMatch(/69\.1M +24\.7M +0 +2\.40B +2 +633\.33$/);
  expect(usage.filter((row) => /^(DAY|AGENT|MODEL) /.test(row)).map((row) => row.split(" ")[0])).toEqual([
    "DAY",
    "AGENT",
    "MODEL",
  ]);
  for (const row of [...list, ...usage]) expect(row).toMatch(/^(\S.{0,79}|\s?\d.{0,78}|)$/);
});

test.each(["show 0 --json", "show 0 --all --full"])("a closed output is not an error: %s | head", (command) => {
  const world = createWorld();
  const message = { role: "user", content: "more than a pipe holds ".repeat(20_000) };
  appendFileSync(
    join(world.root, "projects/-work-app", `${first}.jsonl`),
    `${JSON.stringify({ type: "user", uuid: "u9", timestamp: "2026-11-02T10:00:00.000Z", message })}\n`,
  );
  const line = `set -o pipefail; '${process.execPath}' '${bin}' history ${command} --root '${world.root}' | head -c 1`;
  const { status, stderr, stdout } = spawnSync("bash", ["-c", line], {
    encoding: "utf8",
    env: { ...process.env, ...world.env },
  });
  expect({ status, stderr, length: stdout.length }).toEqual({ status: 0, stderr: "", length: 1 });
});

test.each([
  ["an escape", "\u001B[31m", String.raw`\x1b[31m`],
  ["an 8-bit control", "\u009B31m", String.raw`\x9b31m`],
  ["a carriage return", "a\rb", String.raw`a\x0db`],
  ["a Windows line end", "a\r\nb", "a\nb"],
  ["a mark that reverses text", "\u202Ea", String.raw`\u202ea`],
  ["tag characters", "\u{E0041}", String.raw`\u{e0041}`],
  ["half of a surrogate pair", "\uD800", String.raw`\ud800`],
  ["a family emoji with zero-width joiners", "👨‍👩‍👧", "👨‍👩‍👧"],
  ["tabs and other languages", "a\tü中", "a\tü中"],
])("%s is shown and has no effect", (_, text, expected) => {
  expect(visible(text)).toBe(expected);
  expect(styledText`${text}`.text).toBe(expected);
  expect(JSON.parse(visibleJson({ text }, 2))).toEqual({ text });
});

test("tables, cuts and line breaks count wide letters as two columns", () => {
  expect(
    table(
      [{ title: "A" }, { title: "N", align: "right" }],
      [
        ["中", "1"],
        ["b", "10"],
      ],
    ).map(({ text }) => text),
  ).toEqual(["A    N", "中   1", "b   10"]);
  const narrow = table(
    [{ title: "NAME" }, { title: "N", align: "right" }, { title: "TITLE" }],
    [
      ["aaaa", "10", ""],
      ["b", "1", "cc"],
    ],
    12,
  );
  expect(narrow.map(({ text }) => text)).toEqual(["NAME   N", "  TITLE", "aaaa  10", "b      1", "  cc"]);
  expect(widthOf("中é")).toBe(3);
  expect(shorten("one two three", 8)).toBe("one two…");
  expect(wrap("- one two three", 9)).toEqual(["- one two", "  three"]);
  expect(wrap("x".repeat(10), 4)).toEqual(["xxxx", "xxxx", "xx"]);
  expect(wrap("日本語です", 4)).toEqual(["日本", "語で", "す"]);
  expect(wrap("- a 日本語", 7)).toEqual(["- a", "  日本", "  語"]);
  expect(wrap("😀😀", 1)).toEqual(["😀", "😀"]);
});

test("times are parsed as people type them", () => {
  const now = new Date(2026, 10, 15, 12);
  expect(parseTime("7d", "start", now)).toEqual(new Date(2026, 10, 8, 12));
  expect(parseTime("2026-11-01", "start", now)).toEqual(new Date(2026, 10, 1));
  expect(parseTime("2026-11-01", "end", now)).toEqual(new Date(2026, 10, 2));
  expect(parseTime("yesterday", "start", now)).toEqual(new Date(2026, 10, 14));
  expect(parseTime("2026-11-01T10:00:00Z", "start", now)).toEqual(new Date("2026-11-01T10:00:00Z"));
  for (const text of ["", "soon", "2026-13-01", "2026-02-30", "7x", "-7d"])
    expect(parseTime(text, "start", now)).toBeUndefined();
});

test("history search takes one argument as the query; among several, an argument with spaces is a phrase", () => {
  expect(queryOf(['"a b" c'])).toBe('"a b" c');
  expect(queryOf(["fix", "the parser"])).toBe('fix "the parser"');
  expect(queryOf(["fix", "/a b/"])).toBe("fix /a b/");
});
