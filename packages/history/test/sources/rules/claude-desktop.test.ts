/**
 * Tests the rules for reading the folders of Claude Desktop. A sidecar is the file `local_….json` with the title and
 * the folder of a session.
 */
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { listSessions, withSources } from "../../../src/index.ts";
import { temporaryFolder } from "../agent-data.ts";
import { callsIn, folderWith, readAll, threadOf, titleOf, unitsIn } from "./one-source.ts";

afterEach(() => void vi.unstubAllEnvs());

const MODE = "local-agent-mode-sessions/account/org";
const CODE = "claude-code-sessions/account/org";
const user = (uuid: string, text: string): object => ({
  type: "user",
  uuid,
  parentUuid: null,
  sessionId: "s",
  cwd: "/sessions/fox",
  timestamp: "2026-08-01T09:00:01.000Z",
  message: { role: "user", content: text },
});

test("Claude Desktop: a session of the Code tab has the opened folder, and is listed once", async () => {
  const home = folderWith({ "projects/-srv-tree/11111111-1111-4111-8111-111111111111.jsonl": [user("a", "q")] });
  vi.stubEnv("CLAUDE_CONFIG_DIR", home);
  const sidecar = {
    cliSessionId: "11111111-1111-4111-8111-111111111111",
    title: "Title",
    originCwd: "/srv/origin",
    cwd: "/srv/tree",
  };
  const root = folderWith({ [`${CODE}/local_1.json`]: sidecar });
  const [unit] = unitsIn("claude-desktop", root);
  expect(unit?.extra).toMatchObject({ cwd: "/srv/origin", title: "Title" });
  const { config } = await withSources({ dataPath: [root, home], cacheFolder: join(temporaryFolder(), "cache") });
  const { data } = await listSessions({ ...config, limit: Infinity });
  expect(data.map(({ source, summary }) => [source, summary])).toEqual([["claude-desktop", "Title"]]);
});

test("Claude Desktop: the transcript of the Code tab is found in each data directory of Claude Code", () => {
  const second = folderWith({ "projects/-srv-tree/11111111-1111-4111-8111-111111111111.jsonl": [user("a", "q")] });
  vi.stubEnv("CLAUDE_CONFIG_DIR", `${temporaryFolder()},${second}`);
  const sidecar = { cliSessionId: "11111111-1111-4111-8111-111111111111", title: "Title" };
  const root = folderWith({ [`${CODE}/local_1.json`]: sidecar });
  expect(readAll("claude-desktop", root).map(threadOf)).toEqual([["q"]]);
});

test("Claude Desktop: the sidecar chooses among the transcripts of a sandbox, and a new title counts as a change", () => {
  const folder = `${MODE}/local_1/.claude/projects/-sessions-fox`;
  const sidecar = { cliSessionId: "b", title: "Title", userSelectedFolders: ["/srv/chosen"] };
  const root = folderWith({
    [`${MODE}/local_1.json`]: sidecar,
    [`${folder}/a.jsonl`]: [user("a", "other")],
    [`${folder}/b.jsonl`]: [user("b", "main")],
    [`${folder}/b/subagents/agent-c.jsonl`]: [user("c", "child")],
  });
  const reads = readAll("claude-desktop", root);
  expect(reads.map((read) => [read.id, titleOf(read), read.parentId])).toEqual([
    ["a", undefined, undefined],
    ["b", "Title", undefined],
    ["c", undefined, "b"],
  ]);
  folderWith({ [`${MODE}/local_1.json`]: { ...sidecar, title: "Renamed" } }, root);
  expect(readAll("claude-desktop", root)[1]?.unit.stamp).not.toBe(reads[1]?.unit.stamp);
});

test("Claude Desktop: sessions of agents are found one folder deeper, in a sandbox with a short name, and without a sidecar", () => {
  const ID = "abcdef01-0000-4000-8000-000000000001";
  const root = folderWith({
    [`${MODE}/agent/local_2.json`]: { cliSessionId: "b", title: "Deeper" },
    [`${MODE}/agent/local_2/.claude/projects/session/b.jsonl`]: [user("b", "deeper")],
    [`${MODE}/local_${ID}.json`]: { cliSessionId: "a", title: "Short" },
    [`${MODE}/abcdef01/.claude/projects/session/a.jsonl`]: [user("a", "short")],
    [`${MODE}/agent/local_ditto_x_g1/.claude/projects/session/c.jsonl`]: [user("c", "sent out")],
  });
  expect(readAll("claude-desktop", root).map((read) => [read.id, titleOf(read), ...threadOf(read)])).toEqual([
    ["a", "Short", "short"],
    ["b", "Deeper", "deeper"],
    ["c", undefined, "sent out"],
  ]);
});

test("Claude Desktop: the transcript of the Code tab is found in the session's folder and in the folder of imported sessions", () => {
  vi.stubEnv("CLAUDE_CONFIG_DIR", temporaryFolder());
  const root = folderWith({
    [`${CODE}/local_1.json`]: { cliSessionId: "a", title: "Own" },
    [`${CODE}/local_1/.claude/projects/-srv/a.jsonl`]: [user("a", "own")],
    [`${CODE}/local_2.json`]: { cliSessionId: "b", title: "Imported" },
    [`${CODE}/imported-staging/b.jsonl`]: [user("b", "imported")],
  });
  expect(readAll("claude-desktop", root).map((read) => [read.id, titleOf(read), ...threadOf(read)])).toEqual([
    ["a", "Own", "own"],
    ["b", "Imported", "imported"],
  ]);
});

test("Claude Desktop: a session without a transcript is read from its audit log, and only results have tokens", () => {
  const line = (type: string, at: number, more: object): object => ({
    type,
    uuid: `u${at}`,
    session_id: "s",
    parent_tool_use_id: null,
    _audit_timestamp: `2026-08-01T09:00:0${at}.000Z`,
    ...more,
  });
  const usage = { input_tokens: 999, output_tokens: 999 };
  const modelUsage = { m: { inputTokens: 10, outputTokens: 2, cacheReadInputTokens: 30, cacheCreationInputTokens: 5 } };
  const log = [
    line("user", 1, { message: { role: "user", content: "q" } }),
    line("assistant", 2, {
      message: { id: "x", role: "assistant", model: "m", content: [{ type: "text", text: "inner" }], usage },
      parent_tool_use_id: "t",
    }),
    line("assistant", 3, {
      message: { id: "y", role: "assistant", model: "m", content: [{ type: "text", text: "a" }], usage },
    }),
    line("result", 4, { modelUsage }),
  ];
  const text = `${log.map((each) => JSON.stringify(each)).join("\n")}\nhalf a line\n`;
  const root = folderWith({ [`${MODE}/local_1.json`]: { cliSessionId: "s" }, [`${MODE}/local_1/audit.jsonl`]: text });
  const [read] = readAll("claude-desktop", root);
  if (!read) throw new Error("no session");
  expect(
    read.lines.map(({ type, timestamp, isSidechain }) => [type, String(timestamp).slice(17, 19), isSidechain]),
  ).toEqual([
    ["user", "01", false],
    ["assistant", "02", true],
    ["assistant", "03", false],
    ["progress", "04", undefined],
  ]);
  expect(read.damage).toEqual(["half a line"]);
  expect(threadOf(read).at(-1)).toBe("a");
  expect(callsIn("claude-desktop", [read])).toMatchObject([{ input: 10, output: 2, cacheRead: 30, cacheWrite: 5 }]);
});
