import { describe, expect, test } from "vitest";
import { sessionFactsFacet, type SessionFacts } from "../src/sources/claude-code/facts/session-facts.ts";
import { createByteSearch } from "../src/scan/byte-search.ts";

const envelope = {
  isSidechain: false,
  userType: "external",
  cwd: "/home/dev/one",
  sessionId: "s1",
  version: "2.1.270",
};
const message = (id: string): object => ({ model: "claude-opus-5", id, type: "message", content: [{ type: "text" }] });

function time(second: number): string {
  return new Date(Date.UTC(2026, 10, 1, 12, 0, second)).toISOString();
}

const user = { parentUuid: null, ...envelope, type: "user", message: { role: "user", content: "hello" } };
const answer = { parentUuid: "u", ...envelope, message: message("msg_1"), type: "assistant", uuid: "a" };
const opening = [{ ...user, uuid: "u", timestamp: time(0) }];

/** What comes after the first prompt, and what makes it hard for a walk that does not parse. */
const cases: readonly (readonly [string, readonly (object | string)[]])[] = [
  ["answers over several lines", [1, 2, 3].map((second) => ({ ...answer, timestamp: time(second) }))],
  ["an answer that comes back after another", ["m1", "m2", "m1"].map((id) => ({ ...answer, message: message(id) }))],
  ["a time between two nested values", [{ ...user, uuid: "r", timestamp: time(9), toolUseResult: { a: 1 } }]],
  [
    "a time between two nested values, and a later line",
    [
      { ...user, timestamp: time(9), toolUseResult: { a: 1 } },
      { ...answer, timestamp: time(4) },
    ],
  ],
  ["another working directory", [{ ...user, cwd: "/home/dev/two", timestamp: time(3) }, user]],
  ["a working directory that only begins the same", [{ ...user, cwd: "/home/dev/one/more" }]],
  [
    "a working directory with escapes",
    [
      { ...user, cwd: "C:\\a\\b" },
      { ...user, cwd: "C:\\a\\b" },
    ],
  ],
  [
    "side chains",
    [
      { ...user, isSidechain: true },
      { ...answer, isSidechain: true, timestamp: time(5) },
    ],
  ],
  ["a side chain that the tail tells of", [{ type: "user", message: {}, isSidechain: true }]],
  ["no id in the message", [{ ...answer, message: { model: "m", content: [] } }, answer]],
  ["an id that is no text", [{ ...answer, message: { id: 7, content: [] } }]],
  ["an id behind something nested", [{ ...answer, message: { content: [{ id: "inner" }], id: "msg_9" } }]],
  ["an answer without a message", [{ ...envelope, type: "assistant", text: "x", timestamp: time(6) }]],
  ["a nested type before the line's own", [{ attachment: { type: "user" }, ...envelope, type: "attachment" }]],
  ["spaces", ['{ "type": "user", "timestamp": "2026-11-02T00:00:00.000Z" }', `  ${JSON.stringify(answer)}  `]],
  ["a time of another length", [{ ...user, timestamp: "2026-11-03T00:00:00Z" }]],
  ["a time that is no text", [{ ...user, timestamp: 5 }]],
  ["carriage returns", [`${JSON.stringify({ ...user, timestamp: time(8) })}\r`, "\r", `${JSON.stringify(answer)}\r`]],
  ["blank lines", ["", "", JSON.stringify(user)]],
  [
    "lines that are not JSON",
    ["{", "[]", '{"type":"user"', '{"type"}', '{"a', "nul\0\0", "}{", '"type"', '{"type":"user",}'],
  ],
  ["titles", [{ type: "ai-title", aiTitle: "one" }, { type: "ai-title", aiTitle: "two" }, { type: "ai-title" }]],
  [
    "a name that is given later",
    [
      { type: "ai-title", aiTitle: "one" },
      { type: "custom-title", customTitle: "mine" },
    ],
  ],
  [
    "last prompts",
    [{ type: "last-prompt", lastPrompt: 'with "quotes"' }, user, { lastPrompt: "x", type: "last-prompt" }],
  ],
  [
    "where the project went",
    [
      { type: "relocated", relocatedCwd: "/new" },
      { type: "worktree-state", worktreeSession: null },
    ],
  ],
  [
    "types that nobody knows",
    [
      { type: "tag", tag: "x" },
      { type: "newest-thing", a: [1] },
      { type: "mode", mode: "x" },
    ],
  ],
  ["short types", [{ type: "u" }, { type: "" }, { type: "use" }]],
  [
    "keys that look like others",
    [{ ...user, Type: "x", cwdx: "/a", timestamps: "z", isSidechains: true, timestamp: time(2) }],
  ],
  ["strings that end in backslashes", [{ ...user, note: "a\\", message: {}, last: "b\\", uuid: "x" }]],
  [
    "machinery",
    [
      { ...envelope, type: "system", content: "x", timestamp: time(7) },
      { ...envelope, type: "progress", data: {} },
    ],
  ],
];

describe("lines that machine code passes over", () => {
  test.each(cases)("count like lines read one by one: %s", (_, lines) => {
    for (const text of [
      textOf([...opening, ...lines]),
      textOf(lines),
      textOf([...opening, ...lines, user]).trimEnd(),
    ]) {
      expect(folded(text, true)).toEqual(folded(text, false));
    }
  });

  test("count like lines read one by one wherever the file is torn", () => {
    const bytes = Buffer.from(
      textOf([...opening, { ...answer, timestamp: time(3) }, { type: "ai-title", aiTitle: "é" }]),
    );
    for (let end = 0; end <= bytes.length; end += 1) {
      const torn = bytes.subarray(0, end);
      expect(folded(torn, true), `torn at ${end}`).toEqual(folded(torn, false));
    }
  });

  test("are passed over at all", () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => ({
      ...answer,
      message: message(`m${i}`),
      timestamp: time(i),
    }));
    expect(folded(textOf([...opening, ...lines]), true)).toMatchObject({ lines: 20_001, messageCount: 20_001 });
  });
});

function textOf(lines: readonly (object | string)[]): string {
  return lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
}

/** Only bytes in the search's own memory can be walked by machine code. */
function folded(text: string | Uint8Array, isWalked: boolean): SessionFacts {
  const content = Buffer.from(typeof text === "string" ? new TextEncoder().encode(text) : text);
  const search = createByteSearch(Math.max(1, content.length));
  const bytes = isWalked ? search.buffer() : Buffer.alloc(content.length);
  content.copy(bytes);
  const state = sessionFactsFacet.start();
  const region = { bytes, start: 0, end: content.length, offset: 0, tooLong: false, unterminated: false };
  sessionFactsFacet.fold(state, region, search);
  return state;
}
