import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { textsOf } from "../src/sources/claude-code/search/line-texts.ts";
import { textRangeOf, type TextRange } from "../src/sources/claude-code/search/text-range.ts";
import { writeCorpus } from "../src/sources/claude-code/testing/corpus.ts";
import { createDataDirectory } from "./data-directory.ts";

/** Returns the part of a line that may contain text. */
function rangeIn(line: string): string {
  const bytes = Buffer.from(`before\n${line}\nafter`);
  const range: TextRange = { from: 0, until: 0 };
  textRangeOf(bytes, 7, 7 + Buffer.byteLength(line), range);
  return bytes.toString("utf8", range.from, Math.max(range.from, range.until));
}

const head = { parentUuid: null, isSidechain: false, cwd: "/work/role", sessionId: "s" };
const tail = { uuid: "u1", timestamp: "2026-11-01T10:00:00.000Z" };
const usage = { input_tokens: 1, server_tool_use: { web_search_requests: 0 } };

test.each<[name: string, line: object, has: readonly string[], lacks: readonly string[]]>([
  [
    "the keys around a prompt are not searched",
    { ...head, type: "user", message: { role: "user", content: "hello" }, ...tail },
    ["hello"],
    ["parentUuid", "role", "cwd", "uuid", "timestamp"],
  ],
  [
    "the usage and the stop reason of an answer are not searched",
    {
      ...head,
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: "hello" }],
        stop_reason: "tool_use",
        usage,
      },
      type: "assistant",
      ...tail,
    },
    ["hello"],
    ["assistant", "stop_reason", "input_tokens", "uuid"],
  ],
  [
    "usage and stop_reason in the input of a tool are searched, also if the message has none",
    {
      type: "assistant",
      message: {
        content: [
          { type: "tool_use", id: "t", name: "X", input: { a: 1, stop_reason: "kept", usage: { deep: "kept too" } } },
        ],
      },
      ...tail,
    },
    ["stop_reason", "kept", "usage", "kept too", "X"],
    ["tool_use", "uuid"],
  ],
  [
    "content after the usage is searched",
    { type: "assistant", message: { x: 1, usage, content: [{ type: "text", text: "hello" }] }, ...tail },
    ["hello"],
    ["input_tokens", "uuid"],
  ],
  [
    "Claude Code's own copy of a result and the pairs before it are not searched",
    {
      type: "user",
      message: { role: "user", content: [{ tool_use_id: "t1", type: "tool_result", content: "out" }] },
      ...tail,
      toolUseResult: { stdout: "again", interrupted: false },
      sourceToolAssistantUUID: "a1",
    },
    ["out"],
    ["tool_use_id", "uuid", "again", "sourceToolAssistantUUID"],
  ],
  [
    "the id of a call is searched in a block of an unknown type",
    {
      type: "assistant",
      message: { content: [{ type: "web_search_tool_result", tool_use_id: "srv1", content: [] }] },
      ...tail,
    },
    ["tool_use_id", "srv1"],
    ["uuid"],
  ],
  [
    "the second block is searched if the first one has only a type",
    { type: "user", message: { content: [{ type: "image" }, { type: "text", text: "hello" }] }, ...tail },
    ["hello"],
    ["uuid"],
  ],
  [
    "a line that repeats after every turn is not searched",
    { type: "file-history-snapshot", messageId: "m", snapshot: {} },
    [],
    ["messageId"],
  ],
  [
    "a line of an unknown type is searched as a whole",
    { type: "new-thing", uuid: "u", note: { a: "hello" } },
    ["note", "hello", "uuid"],
    [],
  ],
])("%s", (_, line, has, lacks) => {
  const range = rangeIn(JSON.stringify(line));
  for (const word of has) expect(range).toContain(word);
  for (const word of lacks) expect(range).not.toContain(word);
});

test("an incomplete line is searched as a whole", () => {
  const torn = '{"parentUuid":"p","type":"user","message":{"role":"user","content":"hel';
  expect(rangeIn(torn)).toBe(torn);
});

test("a word of every text of a generated corpus is in the range of its line", () => {
  const data = createDataDirectory();
  writeCorpus({ folder: data.root, files: 6, bytes: 1_000_000, seed: 7 });
  let texts = 0;
  for (const name of readdirSync(data.root, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".jsonl")) continue;
    for (const line of readFileSync(join(data.root, name), "utf8").split("\n").filter(Boolean)) {
      const range = rangeIn(line);
      for (const { text } of textsOf(JSON.parse(line) as Record<string, unknown>)) {
        const word = /[a-z]{5,}/.exec(text)?.[0];
        if (word === undefined || !JSON.stringify(text).includes(word)) continue;
        texts += 1;
        expect(range).toContain(word);
      }
    }
  }
  expect(texts).toBeGreaterThan(100);
});
