/** Tests the rules for reading Grok's sessions. */
import { expect, test } from "vitest";
import { callsIn, folderWith, othersIn, readAll, readOne, threadOf, titleOf, unitsIn } from "./one-source.ts";

const ID = "01999999-0000-7000-8000-00000000000f";
const FOLDER = `sessions/%2Fsrv%2Fdemo/${ID}`;
const usage = (more: object = {}): object => ({
  inputTokens: 100,
  outputTokens: 10,
  cachedReadTokens: 30,
  cacheCreationTokens: 20,
  reasoningTokens: 4,
  ...more,
});
const turn = (prompt_id: string, used: object): object => ({
  timestamp: 1_789_455_605,
  method: "_x.ai/session/update",
  params: { update: { sessionUpdate: "turn_completed", prompt_id, usage: used } },
});
const files = (summary: object, updates: readonly object[], chat: readonly object[] = []) => ({
  [`${FOLDER}/summary.json`]: { info: { id: ID, cwd: "/srv/demo" }, current_model_id: "grok-4.6", ...summary },
  [`${FOLDER}/updates.jsonl`]: updates,
  [`${FOLDER}/chat_history.jsonl`]: chat,
});

test("Grok: the input of a turn includes tokens read from the cache and written to it, and the cost is in ticks", () => {
  const session = readOne("grok", files({}, [turn("p1", usage({ costUsdTicks: 2_500_000_000 }))]));
  expect(callsIn("grok", [session])).toMatchObject([
    {
      model: "grok-4.6",
      input: 50,
      cacheRead: 30,
      cacheWrite: 20,
      output: 10,
      reasoning: 4,
      usd: 0.25,
      at: "2026-09-15T07:00:05.000Z",
    },
  ]);
});

test("Grok: a turn and its copy in a fork count once, at the time of the turn", () => {
  const copied = (timestamp: number): object => {
    const { params, ...line } = turn("p1", usage()) as { readonly params: object };
    return { ...line, timestamp, params: { ...params, _meta: { agentTimestampMs: 1_789_455_605_250 } } };
  };
  const fork = FOLDER.replace(/f$/, "e");
  const folder = folderWith({
    [`${FOLDER}/updates.jsonl`]: [copied(1_789_455_605)],
    [`${fork}/updates.jsonl`]: [copied(1_789_999_999)],
  });
  const calls = readAll("grok", folder).flatMap((read) => callsIn("grok", [read]));
  expect(calls.map(({ at }) => at)).toEqual(Array.from({ length: 2 }, () => "2026-09-15T07:00:05.250Z"));
  expect(callsIn("grok", readAll("grok", folder))).toHaveLength(1);
});

test("Grok: a turn with two models is one call of each model, and a repeated turn counts once", () => {
  const both = usage({ modelUsage: { a: usage({ inputTokens: 60 }), b: usage({ inputTokens: 70 }) } });
  const session = readOne("grok", files({}, [turn("p1", both), turn("p1", both), turn("p2", usage())]));
  expect(callsIn("grok", [session]).map(({ model, input }) => [model, input])).toEqual([
    ["a", 10],
    ["b", 20],
    ["grok-4.6", 50],
  ]);
});

test("Grok: the tokens of a subagent count only in the turn of its parent", () => {
  const summary = { parent_session_id: "parent", session_kind: "subagent", session_summary: "Look" };
  const session = readOne("grok", files(summary, [turn("p1", usage())]));
  expect(session).toMatchObject({ parentId: "parent", meta: { description: "Look" } });
  expect(callsIn("grok", [session])).toEqual([]);
  expect(othersIn(session)).toEqual(["grok:turn-usage"]);
  const fork = readOne("grok", files({ ...summary, session_kind: "fork" }, [turn("p1", usage())]));
  expect(fork.parentId).toBeUndefined();
  expect(callsIn("grok", [fork])).toHaveLength(1);
});

test("Grok: without a summary, the project path comes from the folder name or its file .cwd", () => {
  const chat = [
    { type: "user", content: "added", synthetic_reason: "reminder" },
    { type: "user", content: "q" },
  ];
  const named = readOne(
    "grok",
    files({ session_summary: "First prompt", generated_title: "Title", head_branch: "main" }, [], chat),
  );
  expect(titleOf(named)).toBe("Title");
  expect(named.lines[0]).toMatchObject({ cwd: "/srv/demo", gitBranch: "main" });
  expect(threadOf(named)).toEqual(["meta: added", "q"]);
  const bare = readOne("grok", { [`${FOLDER}/chat_history.jsonl`]: chat });
  expect(bare.lines[0]).toMatchObject({ cwd: "/srv/demo" });
  const hashed = readOne("grok", {
    "sessions/demo-1a2b/.cwd": "/srv/long\n",
    [`sessions/demo-1a2b/${ID}/chat_history.jsonl`]: chat,
  });
  expect(hashed.lines[0]).toMatchObject({ cwd: "/srv/long" });
});

test("Grok: a session counts as changed if any of its files changed", () => {
  const folder = folderWith(files({}, []));
  const stamps = new Set([unitsIn("grok", folder)[0]?.stamp]);
  folderWith({ [`${FOLDER}/updates.jsonl`]: [turn("p1", usage())] }, folder);
  stamps.add(readAll("grok", folder)[0]?.unit.stamp);
  folderWith({ [`${FOLDER}/summary.json`]: { generated_title: "Title" } }, folder);
  stamps.add(unitsIn("grok", folder)[0]?.stamp);
  expect(stamps.size).toBe(3);
});
