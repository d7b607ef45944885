/** Tests the rules for reading Qwen Code's chats. */
import { expect, test } from "vitest";
import { callsIn, folderWith, readAll, readOne, threadOf, titleOf } from "./one-source.ts";

const PLACE = "projects/-srv-demo/chats/a1000000-0000-4000-8000-00000000000f.jsonl";
const record = (uuid: string, parentUuid: string | null, type: string, more: object = {}): object => ({
  uuid,
  parentUuid,
  sessionId: "s",
  timestamp: "2026-08-01T09:00:01.000Z",
  type,
  cwd: "/srv/demo",
  gitBranch: "main",
  ...more,
});
const parts = (...list: readonly object[]): object => ({ message: { parts: list } });
const used = (total: number): object => ({
  usageMetadata: {
    promptTokenCount: 100,
    candidatesTokenCount: 20,
    thoughtsTokenCount: 8,
    cachedContentTokenCount: 60,
    totalTokenCount: total,
  },
});
const answer = (uuid: string, parent: string | null, more: object = {}): object =>
  record(uuid, parent, "assistant", { model: "qwen3", ...parts({ text: uuid }), ...more });

test("Qwen Code: thoughts are added to the output only if the total is larger than input and output", () => {
  const session = readOne("qwen", { [PLACE]: [answer("a", null, used(128)), answer("b", "a", used(120))] });
  expect(callsIn("qwen", [session])).toMatchObject([
    { input: 40, cacheRead: 60, output: 28, reasoning: 8 },
    { input: 40, cacheRead: 60, output: 20, reasoning: 8 },
  ]);
});

test("Qwen Code: archived sessions are read, and a session's file of prompts is not a session", () => {
  const archived = "projects/-srv-demo/chats/archive/a1000000-0000-4000-8000-00000000000e.jsonl";
  const ledger = PLACE.replace(".jsonl", ".ledger.jsonl");
  const folder = folderWith({
    [PLACE]: [answer("a", null)],
    [archived]: [answer("b", null)],
    [ledger]: [{ prompt: 1 }],
  });
  expect(readAll("qwen", folder).map(threadOf)).toEqual([["b"], ["a"]]);
});

test("Qwen Code: if a branch copies records, their model calls count once", () => {
  const lines = [answer("a", null, used(120))];
  const copies = lines.map((line) => ({ ...line, sessionId: "t" }));
  const folder = folderWith({ [PLACE]: lines, [PLACE.replace("00f", "00e")]: copies });
  expect(callsIn("qwen", readAll("qwen", folder))).toHaveLength(1);
});

test("Qwen Code: a record follows its parent, and a failed tool call, a title and the Git branch are read", () => {
  const result = record("c", "b", "tool_result", {
    ...parts({ functionResponse: { id: "t1", response: { error: "not found" } } }),
    toolCallResult: { callId: "t1", status: "error" },
  });
  const title = record("d", "c", "system", { subtype: "custom_title", systemPayload: { customTitle: "Title" } });
  const session = readOne("qwen", {
    [PLACE]: [record("a", null, "user", parts({ text: "q" })), answer("left", "a"), answer("b", "a"), result, title],
  });
  expect(threadOf(session)).toEqual(["q", "b", "failed: not found"]);
  expect(titleOf(session)).toBe("Title");
  expect(session.lines[0]).toMatchObject({ gitBranch: "main", cwd: "/srv/demo" });
});

test("Qwen Code: the files of subagents are beside the chats", () => {
  const lines = [record("a", null, "user", parts({ text: "q" }))];
  const folder = folderWith({ [PLACE]: lines, "projects/-srv-demo/subagents/parent/agent-1.jsonl": lines });
  expect(readAll("qwen", folder).map(({ parentId }) => parentId)).toEqual([undefined, "parent"]);
});
