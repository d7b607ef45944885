/** Tests the rules for reading pi's sessions. */
import { expect, test } from "vitest";
import { callsIn, othersIn, readOne, threadOf, titleOf } from "./one-source.ts";

const PLACE = "sessions/--srv-demo--/2026-09-10T08-00-00-000Z_019a0000-0000-7000-8000-00000000000f.jsonl";
const HEADER = { type: "session", version: 3, id: "019a0000-0000-7000-8000-00000000000f", cwd: "/srv/demo" };
const at = (second: number): string => new Date(Date.UTC(2026, 8, 10, 8, 0, second)).toISOString();

const entry = (id: string, parentId: string | null, more: object): object => ({
  id,
  parentId,
  timestamp: at(1),
  ...more,
});
const user = (id: string, parentId: string | null, content: string): object =>
  entry(id, parentId, { type: "message", message: { role: "user", content } });
const usage = (input: number, more: object = {}) => ({ input, output: 1, cacheRead: 0, cacheWrite: 0, ...more });
const answer = (id: string, parentId: string | null, text: string, more: object = {}): object =>
  entry(id, parentId, {
    type: "message",
    message: { role: "assistant", content: [{ type: "text", text }], provider: "anthropic", model: "m", ...more },
  });
const read = (...entries: readonly object[]) => readOne("pi", { [PLACE]: [HEADER, ...entries] });

test("pi: a line follows the line of its parent entry, and skips parents without a line", () => {
  const entries = [
    user("a", null, "first"),
    answer("b", "a", "left"),
    entry("c", "a", { type: "label", targetId: "a", label: "here" }),
    answer("d", "c", "right"),
  ];
  expect(threadOf(read(...entries))).toEqual(["first", "right"]);
});

test("pi: the last name is the title, and the version of the format is kept", () => {
  const name = (id: string, value: string): object => entry(id, null, { type: "session_info", name: value });
  const session = read(name("a", "First name"), user("b", null, "q"), name("c", "Last name"));
  expect(titleOf(session)).toBe("Last name");
  expect(session.lines.find(({ type }) => type === "user")?.["version"]).toBe("format 3");
});

test("pi: summaries, tools and model calls outside of the conversation count with their model, cost and cache", () => {
  const calls = callsIn("pi", [
    read(
      answer("a", null, "x", {
        responseId: "r1",
        usage: usage(1, { cacheWrite: 5, cacheWrite1h: 5, cost: { total: 0.25 } }),
      }),
      entry("b", "a", {
        type: "message",
        message: { role: "toolResult", toolCallId: "t", content: "", usage: usage(2) },
      }),
      entry("c", "b", { type: "compaction", summary: "s", usage: usage(3) }),
      entry("d", "c", { type: "branch_summary", summary: "s", usage: usage(4) }),
      entry("e", "d", { type: "usage", kind: "warm", model: "other", usage: usage(5) }),
    ),
  ]);
  expect(calls.map(({ input, model }) => [input, model])).toEqual([
    [1, "m"],
    [2, "m"],
    [3, "m"],
    [4, "m"],
    [5, "other"],
  ]);
  expect(calls[0]).toMatchObject({ usd: 0.25, cacheWrite: 5 });
});

test("pi: a cache write for one hour is counted separately", () => {
  const session = read(answer("a", null, "x", { usage: usage(1, { cacheWrite: 7, cacheWrite1h: 5 }) }));
  expect(JSON.stringify(session.lines)).toContain('"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":5');
});

test("pi: a model call without a model name has the last chosen model", () => {
  const change = entry("a", null, { type: "model_change", provider: "p", modelId: "chosen" });
  const session = read(change, entry("b", "a", { type: "compaction", summary: "s", usage: usage(3) }));
  expect(callsIn("pi", [session]).map(({ model }) => model)).toEqual(["chosen"]);
  expect(othersIn(session)).toEqual(["pi:model_change"]);
});

test("pi: if an entry has no time, it gets the time of its message", () => {
  const message = { role: "user", content: "q", timestamp: Date.parse(at(9)) };
  const session = read({ type: "message", id: "a", parentId: null, message });
  expect(session.lines[0]?.["timestamp"]).toBe(at(9));
});
