/** Tests the rules for reading Droid's sessions. */
import { expect, test } from "vitest";
import { callsIn, folderWith, othersIn, readOne, threadOf, titleOf, unitsIn } from "./one-source.ts";

const ID = "f0000000-0000-4000-8000-00000000000f";
const PLACE = `sessions/-srv-demo/${ID}.jsonl`;
const SETTINGS = PLACE.replace(".jsonl", ".settings.json");
const start = { type: "session_start", id: ID, title: "Title", cwd: "/srv/demo" };
const message = (id: string, role: string, text: string, parentId?: string): object => ({
  type: "message",
  id,
  timestamp: "2026-01-01T00:00:00.000Z",
  ...(parentId && { parentId }),
  message: { role, content: [{ type: "text", text }] },
});

test("Droid: a message follows its parent message", () => {
  const session = readOne("droid", {
    [PLACE]: [
      start,
      message("a", "user", "q"),
      message("b", "assistant", "left", "a"),
      message("c", "assistant", "right", "a"),
    ],
  });
  expect(threadOf(session)).toEqual(["q", "right"]);
  expect(titleOf(session)).toBe("Title");
});

test("Droid: the sum of a session is one call at the time of its settings, and thinking is not added", () => {
  const tokenUsage = {
    inputTokens: 10,
    outputTokens: 2,
    cacheReadTokens: 30,
    cacheCreationTokens: 5,
    thinkingTokens: 4,
  };
  const settings = { model: "custom:Mine-[Proxy]-0", providerLockTimestamp: "2026-01-02T00:00:00.000Z", tokenUsage };
  const session = readOne("droid", { [PLACE]: [start, message("a", "assistant", "x")], [SETTINGS]: settings });
  expect(callsIn("droid", [session])).toMatchObject([
    { model: "Mine", input: 10, output: 2, cacheRead: 30, cacheWrite: 5, at: "2026-01-02T00:00:00.000Z" },
  ]);
  expect(othersIn(session)).toEqual(["droid:thinking-tokens"]);
});

test("Droid: changed settings count as a change of the session", () => {
  const folder = folderWith({ [PLACE]: [start] });
  const before = unitsIn("droid", folder)[0]?.stamp;
  folderWith({ [SETTINGS]: { model: "m" } }, folder);
  expect(unitsIn("droid", folder)[0]?.stamp).not.toBe(before);
});
