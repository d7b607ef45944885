/** Tests the rules for reading Amp's threads. */
import { expect, test } from "vitest";
import { callsIn, readOne, threadOf, titleOf } from "./one-source.ts";

const ID = "T-e0000000-0000-4000-8000-00000000000f";
const PLACE = `threads/${ID}.json`;
const usage = {
  model: "m",
  inputTokens: 10,
  outputTokens: 2,
  cacheReadInputTokens: 30,
  cacheCreationInputTokens: 5,
  totalInputTokens: 45,
};
const tree = { uri: "file:///srv/my%20demo", repository: { ref: "refs/heads/main" } };
const read = (thread: object) =>
  readOne("amp", {
    [PLACE]: { id: ID, created: Date.UTC(2026, 0, 1), title: "Title", env: { initial: { trees: [tree] } }, ...thread },
  });

test("Amp: a thread has its folder, branch, title and times, even if a message has no time", () => {
  const thread = read({
    messages: [
      { role: "user", content: [{ type: "text", text: "q" }] },
      { role: "assistant", messageId: 1, content: [], usage: { ...usage, timestamp: "2026-01-01T00:00:09.000Z" } },
      { role: "user", content: [{ type: "text", text: "r" }], meta: { sentAt: Date.UTC(2026, 0, 2) } },
    ],
  });
  expect(titleOf(thread)).toBe("Title");
  expect(thread.lines[0]).toMatchObject({ cwd: "/srv/my demo", gitBranch: "main" });
  expect(thread.lines.slice(0, 3).map(({ timestamp }) => timestamp)).toEqual([
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T00:00:09.000Z",
    "2026-01-02T00:00:00.000Z",
  ]);
});

test("Amp: if a thread has a usage ledger, its entries count with the cache tokens of their messages, and messages do not count", () => {
  const message = { role: "assistant", messageId: 1, content: [], usage };
  const tokens = { input: 10, output: 2, cacheRead: 30, cacheWrite: 5 };
  expect(callsIn("amp", [read({ messages: [message] })])).toMatchObject([tokens]);
  const events = [
    {
      id: "l1",
      toMessageId: 1,
      model: "charged",
      timestamp: "2026-01-01T00:00:01.000Z",
      tokens: { input: 11, output: 3 },
    },
  ];
  expect(callsIn("amp", [read({ messages: [message], usageLedger: { events } })])).toMatchObject([
    { ...tokens, input: 11, output: 3, model: "charged" },
  ]);
});

test("Amp: a failed result is marked, and a thread that is not JSON is damage", () => {
  const result = { type: "tool_result", toolUseID: "t1", run: { status: "error", result: "not found" } };
  expect(threadOf(read({ messages: [{ role: "user", content: [result] }] }))).toEqual(["failed: not found"]);
  expect(readOne("amp", { [PLACE]: "half a thr" }).damage).toEqual(["skein: a document that cannot be read: not JSON"]);
  expect(readOne("amp", { [PLACE]: "[]" }).damage).toEqual(["skein: a document that is not an object"]);
});
