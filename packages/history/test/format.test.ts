import { describe, expect, test } from "vitest";
import { createLineSplitter } from "../src/scan/line-splitter.ts";
import { formatLine, parseLine, type Damage } from "../src/scan/parse-line.ts";
import { readLines } from "../src/scan/read-lines.ts";
import { humanPrompt, schemas } from "../src/sources/claude-code/format/index.ts";
import { newPeek, peekLine } from "../src/sources/claude-code/format/peek-line.ts";
import { parsePlan } from "../src/sources/claude-code/format/plan.ts";
import { createDataDirectory, conversation, jsonLines } from "./data-directory.ts";

const { AssistantLine, BackupFileName, BashInput, ContentBlock, HistoryEntry, Line, ShortAgentId, Slug } = schemas;
const { StatsCache, TodoWriteInput, UserLine, Uuid } = schemas;

/** Returns all valid lines and all damage of a file with this content. */
function read(content: string | Uint8Array): { values: unknown[]; lines: number[]; damage: Damage[] } {
  const path = createDataDirectory().write("file.jsonl", content);
  const values: unknown[] = [];
  const lines: number[] = [];
  const damage: Damage[] = [];
  readLines(path, {
    line: ({ value, line }) => {
      values.push(value);
      lines.push(line);
    },
    damage: (found) => damage.push(found),
  });
  return { values, lines, damage };
}

const a = { type: "user", uuid: "a", message: { content: 'ä {"x"} \\ \u2028 😀' } };
const b = { type: "tag", sessionId: "s", tag: "b" };

describe("reading lines", () => {
  test("if a file is cut at any byte, all complete lines are read and only the last line may be damaged", () => {
    const talk = conversation();
    const lines = Array.from({ length: 8 }, (_, i) => (i % 2 ? talk.answer(`ä${i}`) : talk.user(`q "${i}" \\`)));
    const whole = Buffer.from(jsonLines(lines));
    const path = createDataDirectory().write("cut.jsonl", "");
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const splitter = createLineSplitter({ buffer: Buffer.alloc(64) });
      const good: unknown[] = [];
      const damage: Damage[] = [];
      let number = 0;
      const onRegion = (region: { bytes: Buffer; start: number; end: number; unterminated: boolean }): void => {
        for (const text of region.bytes.subarray(region.start, region.end).toString("latin1").split("\n")) {
          if (text === "") continue;
          number += 1;
          const place = { line: number, offset: 1, unterminated: region.unterminated };
          good.push(...parseLine(Buffer.from(text, "latin1"), place, (found) => damage.push(found)));
        }
      };
      for (let at = 0; at < cut;) {
        const space = splitter.space();
        const count = whole.copy(space, 0, at, Math.min(cut, at + space.length));
        at += count;
        splitter.took(count, onRegion);
      }
      splitter.finish(onRegion);
      const complete = whole.subarray(0, cut).toString("latin1").split("\n").length - 1;
      const isWholeWithoutFeed = whole[cut] === 0x0a && cut > 0;
      expect(good.length, `cut at ${cut} of ${path}`).toBe(complete + (isWholeWithoutFeed ? 1 : 0));
      const isTorn = !isWholeWithoutFeed && cut > 0 && whole[cut - 1] !== 0x0a;
      expect(damage.map(({ kind, line }) => [kind, line])).toEqual(isTorn ? [["torn", complete + 1]] : []);
    }
  });

  test("a damaged line is reported with its number, and the lines after it are read", () => {
    const { values, lines, damage } = read(`${JSON.stringify(a)}\n{"type":"user","mess\n${JSON.stringify(b)}\n`);
    expect(values).toEqual([a, b]);
    expect(lines).toEqual([1, 3]);
    expect(damage).toMatchObject([{ line: 2, kind: "not-json" }]);
  });

  test("a byte order mark, carriage returns and blank lines are not damage", () => {
    const { values, damage } = read(`\u{FEFF}${JSON.stringify(a)}\r\n\r\n  \n${JSON.stringify(b)}\r\n`);
    expect(values).toEqual([a, b]);
    expect(damage).toEqual([]);
  });

  test("runs of NUL bytes are reported, and the records before and after them are kept", () => {
    const { values, damage } = read(
      Buffer.concat([
        Buffer.from(`${JSON.stringify(a)}\n`),
        Buffer.alloc(700),
        Buffer.from(`\n`),
        Buffer.alloc(300),
        Buffer.from(`${JSON.stringify(b)}\n`),
      ]),
    );
    expect(values).toEqual([a, b]);
    expect(damage.map(({ line, kind }) => [line, kind])).toEqual([
      [2, "nul-bytes"],
      [3, "nul-bytes"],
    ]);
  });

  test("several records in one line are found, even after a record that was cut", () => {
    const glued = `${JSON.stringify(a)}${JSON.stringify(b)}`;
    expect(read(`${glued}\n`)).toMatchObject({ values: [a, b], lines: [1, 1], damage: [{ line: 1, kind: "glued" }] });
    const cut = `${JSON.stringify(a).slice(0, 35)}${JSON.stringify(b)}`;
    expect(read(`${cut}\n`)).toMatchObject({ values: [b], damage: [{ line: 1, kind: "glued" }] });
  });

  test("a line with bytes that are not UTF-8 is reported and kept", () => {
    const bytes = Buffer.from(`${JSON.stringify({ type: "x", text: "#" })}\n`);
    bytes[bytes.indexOf("#")] = 0xff;
    const { values, damage } = read(bytes);
    expect(values).toEqual([{ type: "x", text: "\u{FFFD}" }]);
    expect(damage).toMatchObject([{ kind: "invalid-utf8" }]);
    expect(read(jsonLines([{ type: "x", text: "\u{FFFD}" }])).damage).toEqual([]);
  });

  test("JSON that is not an object is damage", () => {
    expect(read('[1]\nnull\n7\n"x"\n').damage.map(({ kind }) => kind)).toEqual(Array(4).fill("not-an-object"));
  });

  test("a line of twelve megabytes is read, and a line over the limit is skipped", () => {
    const long = { type: "user", uuid: "long", data: "x".repeat(12 * 1024 * 1024) };
    const { values, damage } = read(jsonLines([a, long, b]));
    expect(values.length).toBe(3);
    expect(damage).toEqual([]);
    const path = createDataDirectory().write("long.jsonl", jsonLines([a, long, b]));
    const seen: number[] = [];
    const found: Damage[] = [];
    readLines(
      path,
      { line: ({ line }) => seen.push(line), damage: (d) => found.push(d) },
      { maxLineBytes: 1024 * 1024 },
    );
    expect(seen).toEqual([1, 3]);
    expect(found).toMatchObject([{ line: 2, kind: "too-long" }]);
  });

  test("an empty file and a file with one line feed have no lines and no damage", () => {
    expect(read("")).toEqual({ values: [], lines: [], damage: [] });
    expect(read("\n")).toEqual({ values: [], lines: [], damage: [] });
  });

  test("the message about a damaged line does not contain the text of the line", () => {
    expect(read('{"secret":"hunter2\n').damage[0]?.message).not.toContain("hunter2");
  });

  test("a record is formatted as its JSON and a line feed", () => {
    for (const value of [a, b]) expect(formatLine(value).toString()).toBe(`${JSON.stringify(value)}\n`);
  });
});

describe("peeking into a line", () => {
  const peekType = (line: object): string | undefined => {
    const bytes = Buffer.from(JSON.stringify(line));
    const peek = newPeek();
    return peekLine(bytes, 0, bytes.length, peek) ? bytes.toString("utf8", peek.typeStart, peek.typeEnd) : undefined;
  };

  test.each([
    ["first", { type: "user", message: { type: "message" } }],
    ["behind a nested type", { attachment: { type: "hook" }, type: "user", uuid: "1" }],
    ["between two nested values", { message: { type: "m" }, type: "user", toolUseResult: { type: "text" } }],
    ["after text that looks like a key", { message: '"type":"no",', x: { y: '\\"type":"no"' }, type: "user" }],
    ["after numbers and flags", { x: [1], n: -1.5, ok: true, none: null, type: "user" }],
  ])("the type of a line is found without parsing when it is %s", (_, line) => {
    expect(peekType(line)).toBe("user");
  });

  test("a nested type is not taken for the type of the line", () => {
    expect(peekType({ message: { type: "message" }, uuid: "1" })).toBeUndefined();
  });
});

describe("schemas", () => {
  test("line schemas accept lines of old and current versions of Claude Code, and keep unknown fields", () => {
    const talk = conversation();
    const answer = talk.answer(
      [
        { type: "thinking", thinking: "", signature: "s" },
        { type: "novel", x: 1 },
      ],
      { effort: "high" },
    );
    expect(AssistantLine.parse(answer)).toEqual(answer);
    const user = talk.user([{ type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "x" }] }], {
      brandNew: { a: 1 },
    });
    expect(UserLine.parse(user)).toEqual(user);
    const old = { type: "summary", summary: "Old", leafUuid: "x" };
    expect(Line.parse(old)).toEqual(old);
    expect(Line.parse({ type: "from-the-future", anything: [1] })).toEqual({ type: "from-the-future", anything: [1] });
  });

  test("the line schemas include prompts, answers, system lines, snapshots, queue operations and summaries", () => {
    for (const type of ["user", "assistant", "system", "file-history-snapshot", "queue-operation", "summary"]) {
      expect(Object.keys(schemas.lines)).toContain(type);
    }
  });

  test("tool input schemas accept a todo list as text and as items", () => {
    expect(TodoWriteInput.safeParse({ todos: "- [ ] a" }).success).toBe(true);
    expect(TodoWriteInput.safeParse({ todos: [{ content: "a", status: "pending" }] }).success).toBe(true);
    expect(BashInput.safeParse({ command: 5 }).success).toBe(false);
    expect(ContentBlock.safeParse({ type: "image", source: { type: "base64" } }).success).toBe(true);
  });

  test("the file schemas accept history entries and both versions of statistics", () => {
    expect(
      HistoryEntry.safeParse({ display: "x", pastedContents: {}, timestamp: 1760110675230, project: "/a" }).success,
    ).toBe(true);
    const day = { date: "2026-01-01", messageCount: 1, sessionCount: 1, toolCallCount: 1 };
    expect(StatsCache.safeParse({ version: 1, lastComputedDate: "2026-01-01", dailyActivity: [day] }).success).toBe(
      true,
    );
    expect(StatsCache.safeParse({ version: 2, dailyActivity: [day], hourCounts: { "9": 3 } }).success).toBe(true);
  });

  test.each([
    [Uuid, "be74c085-8d87-49a7-9100-7f0e83f29a10", "x"],
    [ShortAgentId, "a64f14a", "zz"],
    [Slug, "keen-juggling-origami", "One"],
    [BackupFileName, "a1a38b086cb7d247@v2", "../x@v1"],
  ])("value pattern %# accepts its example and rejects another value", (pattern, good, bad) => {
    expect(pattern.safeParse(good).success).toBe(true);
    expect(pattern.safeParse(bad).success).toBe(false);
  });
});

test("a plan has a title, sections, and phases with items", () => {
  const plan = parsePlan(
    "# Title\n\n## Problem Statement\nWhy.\n\n## Implementation Plan\n### Phase 1: Setup\n- [ ] One\n- [x] Two\n### Phase 2\n* [ ] Three\n```\n# no heading\n- [ ] no item\n```\n## Notes\nEnd",
  );
  expect(plan.title).toBe("Title");
  expect(plan.sections.map(({ title }) => title)).toEqual(["Problem Statement", "Implementation Plan", "Notes"]);
  expect(plan.phases).toEqual([
    {
      title: "Phase 1: Setup",
      items: [
        { text: "One", done: false },
        { text: "Two", done: true },
      ],
    },
    { title: "Phase 2", items: [{ text: "Three", done: false }] },
  ]);
  expect(parsePlan("just text")).toEqual({ title: null, sections: [], phases: [] });
});

describe("what a person typed", () => {
  const line = (content: unknown, extra: object = {}): Record<string, unknown> => ({
    type: "user",
    message: { content },
    ...extra,
  });

  test.each([
    ["plain text", line("fix it"), "fix it"],
    ["text blocks", line([{ type: "text", text: "look" }, { type: "image" }]), "look"],
    ["a prompt after an editor's note", line("<ide_opened_file>x.ts</ide_opened_file>\nfix it"), "fix it"],
    [
      "a prompt typed while the model worked",
      { type: "attachment", attachment: { type: "queued_command", prompt: "stop" } },
      "stop",
    ],
    ["a line with origin human", line("hi", { origin: { kind: "human" } }), "hi"],
  ])("%s is a prompt", (_, value, expected) => {
    expect(humanPrompt(value)).toBe(expected);
  });

  test.each([
    ["a tool result", line([{ type: "tool_result", tool_use_id: "t", content: "x" }])],
    ["a meta line", line("x", { isMeta: true })],
    ["a summary", line("x", { isCompactSummary: true })],
    ["a side chain", line("x", { isSidechain: true })],
    ["a local command", line("<command-name>/clear</command-name><command-args></command-args>")],
    ["output of a command", line("<local-command-stdout>ok</local-command-stdout>")],
    ["a notification", line("<task-notification><task-id>a</task-id></task-notification>")],
    ["an interruption", line("[Request interrupted by user for tool use]")],
    ["a line with another origin", line("x", { origin: { kind: "task-notification" } })],
    ["an attachment of another kind", { type: "attachment", attachment: { type: "hook_success", content: "x" } }],
  ])("%s is not a prompt", (_, value) => {
    expect(humanPrompt(value)).toBeUndefined();
  });
});
