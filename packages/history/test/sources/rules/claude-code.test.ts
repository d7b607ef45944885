/** Tests the ids of Claude Code's sessions and subagents. */
import { basename } from "node:path";
import { expect, test } from "vitest";
import { sources } from "../../../src/sources/registry.ts";
import { agentData } from "../agent-data.ts";

test("Claude Code: the file name is the id of a session, and a subagent has its agent id", () => {
  const { roots } = agentData("claude-code");
  const source = sources.find(({ name }) => name === "claude-code");
  const found = source?.units(roots[0] ?? "");
  expect(found?.problems).toEqual([]);
  const units = found?.units.toSorted((one, other) => (one.id < other.id ? -1 : 1)) ?? [];
  expect(units.map(({ id, path, bytes }) => [id, basename(path), (bytes ?? 0) > 0])).toEqual([
    ["44444444-4444-4444-8444-444444444444", "44444444-4444-4444-8444-444444444444.jsonl", true],
    ["66666666-6666-4666-8666-666666666666", "66666666-6666-4666-8666-666666666666.jsonl", true],
    ["a1234567890abcdef", "agent-a1234567890abcdef.jsonl", true],
  ]);
});
