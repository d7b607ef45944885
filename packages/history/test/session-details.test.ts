import { describe, expect, test } from "vitest";
import { sessionDetailsFacet, type SessionDetails } from "../src/sources/claude-code/details/session-details.ts";
import { createByteSearch } from "../src/scan/byte-search.ts";

const one = "/home/dev/one";
const envelope = {
  isSidechain: false,
  userType: "external",
  cwd: one,
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

const ofOpening = { firstTime: time(0), lastTime: time(0), cwds: [one], sessionId: "s1", firstPrompt: "hello" };

/** Lines after the first prompt, and the details that these lines change. */
const cases: readonly (readonly [string, readonly (object | string)[], Partial<SessionDetails>])[] = [
  [
    "an answer over several lines",
    [1, 2, 3].map((second) => ({ ...answer, timestamp: time(second) })),
    { messageCount: 2, lastTime: time(3) },
  ],
  [
    "an answer that continues after another answer",
    ["m1", "m2", "m1"].map((id) => ({ ...answer, message: message(id) })),
    { messageCount: 3 },
  ],
  [
    "a time between two nested values",
    [{ ...user, uuid: "r", timestamp: time(9), toolUseResult: { a: 1 } }],
    { messageCount: 2, lastTime: time(9) },
  ],
  [
    "a time between two nested values, and a later line",
    [
      { ...user, timestamp: time(9), toolUseResult: { a: 1 } },
      { ...answer, timestamp: time(4) },
    ],
    { messageCount: 3, lastTime: time(4) },
  ],
  [
    "another working directory",
    [{ ...user, cwd: "/home/dev/two", timestamp: time(3) }, user],
    { messageCount: 3, lastTime: time(3), cwds: [one, "/home/dev/two"] },
  ],
  [
    "a working directory that begins with the known one",
    [{ ...user, cwd: "/home/dev/one/more" }],
    { messageCount: 2, cwds: [one, `${one}/more`] },
  ],
  [
    "a working directory with escapes",
    [
      { ...user, cwd: "C:\\a\\b" },
      { ...user, cwd: "C:\\a\\b" },
    ],
    { messageCount: 3, cwds: [one, "C:\\a\\b"] },
  ],
  [
    "side chains",
    [
      { ...user, isSidechain: true },
      { ...answer, isSidechain: true, timestamp: time(5) },
    ],
    { messageCount: 1, lastTime: time(5) },
  ],
  [
    "a side chain that is marked after the message",
    [{ type: "user", message: {}, isSidechain: true }],
    { messageCount: 1 },
  ],
  ["no id in the message", [{ ...answer, message: { model: "m", content: [] } }, answer], { messageCount: 3 }],
  ["a message id that is a number", [{ ...answer, message: { id: 7, content: [] } }], { messageCount: 2 }],
  [
    "a message id after a nested value",
    [{ ...answer, message: { content: [{ id: "inner" }], id: "msg_9" } }],
    { messageCount: 2 },
  ],
  [
    "an answer without a message",
    [{ ...envelope, type: "assistant", text: "x", timestamp: time(6) }],
    { messageCount: 2, lastTime: time(6) },
  ],
  [
    "a nested type before the line's own",
    [{ attachment: { type: "user" }, ...envelope, type: "attachment" }],
    { messageCount: 1 },
  ],
  [
    "spaces between the tokens",
    ['{ "type": "user", "timestamp": "2026-11-02T00:00:00.000Z" }', `  ${JSON.stringify(answer)}  `],
    { messageCount: 3, lastTime: "2026-11-02T00:00:00.000Z" },
  ],
  [
    "a time of another length",
    [{ ...user, timestamp: "2026-11-03T00:00:00Z" }],
    { messageCount: 2, lastTime: "2026-11-03T00:00:00Z" },
  ],
  ["a time that is a number", [{ ...user, timestamp: 5 }], { messageCount: 2 }],
  [
    "carriage returns",
    [`${JSON.stringify({ ...user, timestamp: time(8) })}\r`, "\r", `${JSON.stringify(answer)}\r`],
    { messageCount: 3, lastTime: time(8) },
  ],
  ["blank lines", ["", "", JSON.stringify(user)], { messageCount: 2 }],
  [
    "lines that are not JSON",
    ["{", "[]", '{"type":"user"', '{"type"}', '{"a', "nul\0\0", "}{", '"type"', '{"type":"user",}'],
    { messageCount: 1 },
  ],
  [
    "two titles, and a last title line without a title",
    [{ type: "ai-title", aiTitle: "one" }, { type: "ai-title", aiTitle: "two" }, { type: "ai-title" }],
    { messageCount: 1, aiTitle: null },
  ],
  [
    "a custom title after a generated one",
    [
      { type: "ai-title", aiTitle: "one" },
      { type: "custom-title", customTitle: "mine" },
    ],
    { messageCount: 1, aiTitle: "one", customTitle: "mine" },
  ],
  [
    "last prompts",
    [{ type: "last-prompt", lastPrompt: 'with "quotes"' }, user, { lastPrompt: "x", type: "last-prompt" }],
    { messageCount: 2, lastPrompt: "x" },
  ],
  [
    "a project that was relocated",
    [
      { type: "relocated", relocatedCwd: "/new" },
      { type: "worktree-state", worktreeSession: null },
    ],
    { messageCount: 1, relocatedCwd: "/new" },
  ],
  [
    "unknown line types",
    [
      { type: "tag", tag: "x" },
      { type: "newest-thing", a: [1] },
      { type: "mode", mode: "x" },
    ],
    { messageCount: 1 },
  ],
  ["types that are the beginning of a known type", [{ type: "u" }, { type: "" }, { type: "use" }], { messageCount: 1 }],
  [
    "keys that look like others",
    [{ ...user, Type: "x", cwdx: "/a", timestamps: "z", isSidechains: true, timestamp: time(2) }],
    { messageCount: 2, lastTime: time(2) },
  ],
  [
    "strings that end in backslashes",
    [{ ...user, note: "a\\", message: {}, last: "b\\", uuid: "x" }],
    { messageCount: 2 },
  ],
  [
    "system and progress lines",
    [
      { ...envelope, type: "system", content: "x", timestamp: time(7) },
      { ...envelope, type: "progress", data: {} },
    ],
    { messageCount: 1, lastTime: time(7) },
  ],
];

describe("the details of a session", () => {
  test.each(cases)("the details of a session are correct with %s", (_, lines, expected) => {
    expect(folded(textOf([...opening, ...lines]))).toMatchObject({
      ...ofOpening,
      lines: lines.length + 1,
      ...expected,
    });
  });

  test("the details of an incomplete file come only from its complete lines", () => {
    const bytes = Buffer.from(
      textOf([...opening, { ...answer, timestamp: time(3) }, { type: "ai-title", aiTitle: "é" }]),
    );
    for (let end = 1; end <= bytes.length; end += 1) {
      const isWhole = bytes[end] === 0x0a;
      // If a line is cut after a brace, it looks complete, because a list does not parse lines. So these cuts are left
      // out.
      if (bytes[end - 1] === 0x7d && !isWhole) continue;
      const { lines: _, ...details } = folded(bytes.subarray(0, end));
      const { lines: __, ...expected } = folded(
        bytes.subarray(0, isWhole ? end + 1 : bytes.lastIndexOf(0x0a, end - 1) + 1),
      );
      expect(details, `torn at byte ${end}`).toEqual(expected);
    }
  });

  test("the details of a session count all of 20,000 answers", () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => ({
      ...answer,
      message: message(`m${i}`),
      timestamp: time(i),
    }));
    expect(folded(textOf([...opening, ...lines]))).toMatchObject({ lines: 20_001, messageCount: 20_001 });
  });
});

function textOf(lines: readonly (object | string)[]): string {
  return lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
}

function folded(text: string | Uint8Array): SessionDetails {
  const content = Buffer.from(typeof text === "string" ? new TextEncoder().encode(text) : text);
  const search = createByteSearch(Math.max(1, content.length));
  const bytes = search.buffer();
  content.copy(bytes);
  const state = sessionDetailsFacet.start();
  const region = { bytes, start: 0, end: content.length, offset: 0, tooLong: false, unterminated: false };
  sessionDetailsFacet.fold(state, region, search);
  return state;
}
