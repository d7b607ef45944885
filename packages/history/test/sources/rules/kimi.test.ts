/** Tests the rules for reading the protocol logs of Kimi CLI and Kimi Code. */
import { expect, test } from "vitest";
import { callsIn, folderWith, othersIn, readAll, readOne, threadOf, titleOf } from "./one-source.ts";

const CLI = "sessions/53047a12773840031095a19f6edff059/b1000000-0000-4000-8000-00000000000f";
const wire = (type: string, payload: object): object => ({ timestamp: 1_776_162_400, message: { type, payload } });
const status = (input_other: number, message_id?: string): object =>
  wire("StatusUpdate", {
    token_usage: { input_other, output: 1, input_cache_read: 0, input_cache_creation: 0 },
    ...(message_id && { message_id }),
  });
const part = (text: string): object => wire("ContentPart", { type: "text", text });
const cli = (...lines: readonly object[]) => readOne("kimi", { [`${CLI}/wire.jsonl`]: lines });

test("Kimi CLI: repeated tokens count once, and tokens without an answer count too", () => {
  const session = cli(
    wire("TurnBegin", { user_input: "q" }),
    part("a"),
    status(10, "c1"),
    status(20, "c2"),
    wire("TurnEnd", {}),
    status(10, "c1"),
  );
  expect(
    callsIn("kimi", [session])
      .map(({ input }) => input)
      .toSorted((a, b) => Number(a) - Number(b)),
  ).toEqual([10, 20]);
});

test("Kimi CLI: a failed tool call is marked, and the title that a person gave replaces the generated title", () => {
  const lines = [
    wire("ToolCall", { id: "t1", function: { name: "Shell", arguments: "{}" } }),
    wire("ToolResult", { tool_call_id: "t1", return_value: { is_error: true, output: "not found" } }),
  ];
  const session = readOne("kimi", {
    [`${CLI}/wire.jsonl`]: lines,
    [`${CLI}/state.json`]: { title: "Made", custom_title: "Given" },
  });
  expect(threadOf(session)).toEqual(["Shell", "failed: not found"]);
  expect(titleOf(session)).toBe("Given");
});

const CODE = "sessions/wd_demo_111b1182b4b0/session_1";
const used = (more: object = {}): object => ({
  type: "usage.record",
  model: "k3",
  usage: { inputOther: 5, output: 1, inputCacheRead: 7, inputCacheCreation: 3, ...more },
  time: 1_787_212_802_600,
});
const appended = (kind: string, text: string): object => ({
  type: "context.append_message",
  message: { role: "user", content: [{ type: "text", text }], origin: { kind } },
  time: 1_787_212_800_101,
});

test("Kimi Code: a model call has its cache tokens and real model, and a text of the program is not a prompt", () => {
  const request = { type: "llm.request", model: "kimi-k3", modelAlias: "k3", time: 1 };
  const session = readOne("kimi", {
    [`${CODE}/agents/main/wire.jsonl`]: [appended("system", "added"), appended("user", "q"), request, used()],
  });
  expect(callsIn("kimi", [session])).toMatchObject([
    { model: "kimi-k3", input: 5, output: 1, cacheRead: 7, cacheWrite: 3 },
  ]);
  expect(threadOf(session)).toEqual(["meta: added", "q"]);
});

test("Kimi: if a fork copies the protocol log of its session, the model calls count once", () => {
  const lines = [appended("user", "q"), used()];
  const own = { ...used(), time: 1_787_212_900_000 };
  const fork = CODE.replace("session_1", "session_2");
  const code = folderWith({
    [`${CODE}/agents/main/wire.jsonl`]: lines,
    [`${fork}/agents/main/wire.jsonl`]: [...lines, { type: "forked", time: 1_787_212_899_000 }, own],
  });
  expect(callsIn("kimi", readAll("kimi", code))).toHaveLength(2);
  const turn = [wire("TurnBegin", { user_input: "q" }), part("a"), status(10, "c1"), status(3)];
  const copy = CLI.replace(/f$/, "e");
  const older = folderWith({ [`${CLI}/wire.jsonl`]: turn, [`${copy}/wire.jsonl`]: [...turn, status(20, "c2")] });
  expect(callsIn("kimi", readAll("kimi", older))).toHaveLength(3);
});

test("Kimi Code: undone messages are not active, and a compaction has its summary", () => {
  const said = (text: string): object => ({
    type: "context.append_loop_event",
    event: { type: "content.part", part: { type: "text", text } },
    time: 1_787_212_802_000,
  });
  const undone = [appended("user", "two"), said("second"), { type: "context.undo", count: 1, time: 1 }];
  const compacted = { type: "context.apply_compaction", summary: "so far", compactedCount: 2, time: 1 };
  const lines = [appended("user", "one"), said("first"), ...undone, appended("user", "three"), compacted];
  const session = readOne("kimi", { [`${CODE}/agents/main/wire.jsonl`]: lines });
  expect(threadOf(session)).toEqual(["one", "first", "three", "(compaction)", "summary: so far"]);
  expect(othersIn(session)).toEqual([]);
});

test("Kimi CLI and Kimi Code: a subagent has its parent session, and Kimi Code's state.json gives the folder", () => {
  const lines = [appended("user", "q")];
  const code = folderWith({
    [`${CODE}/agents/main/wire.jsonl`]: lines,
    [`${CODE}/agents/sub/wire.jsonl`]: lines,
    [`${CODE}/state.json`]: { workDir: "/srv/demo" },
  });
  const reads = readAll("kimi", code);
  expect(reads.map(({ parentId }) => parentId)).toEqual([undefined, "session_1"]);
  expect(reads[0]?.lines[0]).toMatchObject({ cwd: "/srv/demo" });
  const turn = [wire("TurnBegin", { user_input: "q" })];
  const older = folderWith({ [`${CLI}/wire.jsonl`]: turn, [`${CLI}/subagents/sub/wire.jsonl`]: turn });
  expect(readAll("kimi", older).map(({ parentId }) => parentId)).toEqual([undefined, CLI.split("/")[2]]);
});
