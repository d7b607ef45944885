/** Tests the rules for reading Codex's rollouts (the files of its threads). */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import { codex } from "../../../src/sources/codex/codex.ts";
import {
  callsIn,
  execute,
  folderWith,
  originalIn,
  othersIn,
  readAll,
  readOne,
  saidIn,
  threadOf,
  titleOf,
  unitsIn,
  type Read,
} from "./one-source.ts";

afterEach(() => void vi.unstubAllEnvs());

const ID = "0198c0de-0000-7000-8000-0000000000f1";
const PARENT = "0198c0de-0000-7000-8000-0000000000f0";
const place = (id = ID): string => `sessions/2026/08/20/rollout-2026-08-20T09-00-00-${id}.jsonl`;

let second = 0;
const line = (type: string, payload: object, seconds = 1): object => {
  second += seconds;
  return { timestamp: new Date(Date.UTC(2026, 7, 20, 9) + second * 1000).toISOString(), type, payload };
};
const meta = (id = ID, more: object = {}): object => line("session_meta", { id, cwd: "/srv/demo", ...more });
const turn = (turn_id: string, model = "gpt-5.2"): object => line("turn_context", { turn_id, cwd: "/srv/demo", model });
const user = (text: string): object =>
  line("response_item", { type: "message", role: "user", content: [{ type: "input_text", text }] });
const says = (text: string, seconds = 1): object =>
  line("response_item", { type: "message", role: "assistant", content: [{ type: "output_text", text }] }, seconds);
const counts = (input: number, output: number, more: object = {}): object => ({
  input_tokens: input,
  cached_input_tokens: 0,
  output_tokens: output,
  reasoning_output_tokens: 0,
  total_tokens: input + output,
  ...more,
});
const count = (total: object, last?: object): object =>
  line("event_msg", {
    type: "token_count",
    info: { total_token_usage: total, ...(last && { last_token_usage: last }) },
  });
const sums = (lines: readonly object[]): readonly number[][] =>
  callsIn("codex", [readOne("codex", { [place()]: lines })]).map(({ input, output }) => [input ?? -1, output]);

test("Codex: the tokens of the last response count, even if the sum of the thread grew by more", () => {
  expect(sums([meta(), turn("a"), says("x"), count(counts(9_000, 900), counts(400, 40))])).toEqual([[400, 40]]);
});

test("Codex: without a last response the difference of two sums counts, and a smaller sum counts from 0", () => {
  const lines = [meta(), turn("a"), says("x"), count(counts(100, 10)), says("y"), count(counts(250, 30))];
  expect(sums([...lines, says("z"), count(counts(70, 7))])).toEqual([
    [100, 10],
    [150, 20],
    [70, 7],
  ]);
});

test("Codex: resetting the counters of a full context is not a model call", () => {
  const reset = counts(0, 0, { total_tokens: 272_000 });
  const lines = [meta(), turn("a"), says("x"), count(counts(100, 10)), count(reset), says("y"), count(counts(60, 6))];
  expect(sums(lines)).toEqual([
    [100, 10],
    [60, 6],
  ]);
});

test("Codex: a sum that gets smaller by a compaction is not a model call", () => {
  const compacted = count(counts(60, 5), counts(0, 0, { total_tokens: 900 }));
  const lines = [meta(), turn("a"), says("x"), count(counts(100, 10), counts(100, 10)), compacted, says("y")];
  expect(sums([...lines, count(counts(90, 9), counts(30, 4))])).toEqual([
    [100, 10],
    [30, 4],
  ]);
});

const record = (response_id: string, usage: object, more: object = {}): object =>
  line("token_usage_record", { thread_id: ID, turn_id: "a", response_id, usage, ...more });

test("Codex: a response with an event and a record counts once, and a compaction with only a record counts too", () => {
  const first = [says("x"), record("resp_1", counts(100, 10)), count(counts(100, 10), counts(100, 10))];
  const compaction = [line("compacted", { message: "so far" }), record("resp_2", counts(70, 7))];
  // The last turn is from an older release, which wrote no `token_usage_record`.
  const last = [turn("b"), says("y"), count(counts(220, 22), counts(50, 5))];
  const read = readOne("codex", { [place()]: [meta(), turn("a", "gpt-5.4"), ...first, ...compaction, ...last] });
  const calls = callsIn("codex", [read]);
  expect(calls.map(({ id, model, input, output }) => [id.replace(ID, "thread"), model, input, output])).toEqual([
    ["codex:resp_1", "gpt-5.4", 100, 10],
    ["codex:resp_2", "gpt-5.4", 70, 7],
    [expect.stringMatching(/^codex:thread:/), "gpt-5.2", 50, 5],
  ]);
});

test("Codex: a record of another thread does not count, and a record has the model of its turn", () => {
  const lines = [meta(), turn("a", "gpt-5.4"), turn("b", "gpt-5.2"), says("x")];
  const records = [record("resp_0", counts(9, 9), { thread_id: PARENT }), record("resp_1", counts(5, 5))];
  const calls = callsIn("codex", [readOne("codex", { [place()]: [...lines, ...records] })]);
  expect(calls.map(({ model, input }) => [model, input])).toEqual([["gpt-5.4", 5]]);
});

test("Codex: a model call has the model of its turn", () => {
  const lines = [meta(), turn("a", "gpt-5.1"), says("x"), count(counts(1, 1)), turn("b", "gpt-5.2"), says("y")];
  const calls = callsIn("codex", [readOne("codex", { [place()]: [...lines, count(counts(3, 3))] })]);
  expect(calls.map(({ model }) => model)).toEqual(["gpt-5.1", "gpt-5.2"]);
});

test("Codex: a turn that was rolled back is not active", () => {
  const rolledBack = line("event_msg", { type: "thread_rolled_back", num_turns: 1 });
  const lines = [meta(), user("first"), says("one"), user("second"), says("two"), rolledBack, user("third")];
  expect(threadOf(readOne("codex", { [place()]: lines }))).toEqual(["first", "one", "third"]);
});

test("Codex: if the parent of a fork was deleted, lines that were written within a second count as copies", () => {
  const copied = [says("old", 0), count(counts(100, 10), counts(100, 10))].map((each) => ({
    ...each,
    timestamp: "2026-08-20T09:00:00.100Z",
  }));
  const lines = [meta(ID, { forked_from_id: PARENT }), ...copied];
  second += 5;
  expect(sums([...lines, says("new", 2), count(counts(150, 15), counts(50, 5))])).toEqual([[50, 5]]);
});

test("Codex: if the parent of a fork was deleted, lines older than the fork count as copies, even if pauses separate them", () => {
  second = 1000;
  const copied = [meta(PARENT), says("old"), count(counts(100, 10), counts(100, 10)), says("older", 60)];
  const again = count(counts(200, 20), counts(100, 10));
  second = 5000;
  const time = { timestamp: new Date(Date.UTC(2026, 7, 20, 9) + second * 1000).toISOString() };
  const own = [says("new", 2), count(counts(250, 25), counts(50, 5))];
  expect(sums([meta(ID, { forked_from_id: PARENT, ...time }), ...copied, again, ...own])).toEqual([[50, 5]]);
});

/** Returns the messages of all lines, because no line of a subagent is active. */
const saidBy = ({ lines }: Read): readonly string[] => lines.filter(({ message }) => message).map(saidIn);

test("Codex: a subagent without copied lines keeps its first prompt, even if its parent was deleted", () => {
  const source = { subagent: { thread_spawn: { parent_thread_id: PARENT } } };
  expect(saidBy(readOne("codex", { [place()]: [meta(ID, { source }), user("look for it")] }))).toEqual(["look for it"]);
});

test("Codex: the copied lines of a subagent end at the line number in its head, or before a line with its id", () => {
  const numbered = (lines: readonly object[]): object[] => lines.map((each, ordinal) => ({ ordinal, ...each }));
  const head = (start: number): object =>
    meta(ID, { parent_thread_id: PARENT, thread_source: "subagent", subagent_history_start_ordinal: start });
  const copied = [says("copied", 20), count(counts(100, 10), counts(100, 10))];
  const own = [user("own"), says("done", 3), count(counts(130, 13), counts(30, 3))];
  const read = readOne("codex", { [place()]: numbered([head(3), ...copied, ...own]) });
  expect([saidBy(read), callsIn("codex", [read]).map(({ input }) => input)]).toEqual([["own", "done"], [30]]);
  const named = line("event_msg", { type: "thread_settings_applied", thread_id: ID });
  // In a migrated rollout, the line number in the head is larger than the number of the last line.
  const migrated = readOne("codex", { [place()]: numbered([head(99), ...copied, named, ...own]) });
  expect(saidBy(migrated)).toEqual(["own", "done"]);
});

test("Codex: if the turns of a parent have no ids, times decide which lines a fork copied", () => {
  const turnWithoutId = line("turn_context", { cwd: "/srv/demo", model: "gpt-5" });
  const old = [turnWithoutId, says("old"), count(counts(100, 10), counts(100, 10))];
  const parent = [meta(PARENT), ...old];
  const head = meta(ID, { forked_from_id: PARENT });
  const { timestamp } = head as { timestamp: string };
  const copies = [meta(PARENT), ...old].map((each) => ({ ...each, timestamp }));
  const lines = [head, ...copies, says("new", 5), count(counts(150, 15), counts(50, 5))];
  const folder = folderWith({ [place(PARENT)]: parent, [place()]: lines });
  expect(callsIn("codex", readAll("codex", folder)).map(({ input }) => input)).toEqual([100, 50]);
});

test("Codex: if a person goes back, a second file of the thread continues after a line of the first file", () => {
  const numbered = (from: number, lines: readonly object[]): object[] =>
    lines.map((each, at) => ({ ordinal: from + at, ...each }));
  const first = [meta(), user("one"), says("first"), user("two"), says("second"), count(counts(9, 9), counts(9, 9))];
  const base = { thread_id: ID, end_ordinal_exclusive: 3, end_byte_offset: 1 };
  const next = "0198c0de-0000-7000-8000-0000000000f9";
  const again = [meta(ID, { history_base: base }), user("three"), says("third"), count(counts(12, 12), counts(3, 3))];
  const folder = folderWith({
    [place()]: numbered(0, first),
    [place(`${ID}_${next}`)]: numbered(3, again),
  });
  const reads = readAll("codex", folder);
  expect(reads.map(({ id }) => id)).toEqual([ID]);
  const [read] = reads;
  if (!read) throw new Error("no thread");
  expect(threadOf(read)).toEqual(["one", "first", "three", "third"]);
  expect(callsIn("codex", reads).map(({ input }) => input)).toEqual([9, 3]);
  const old = read.lines.find((each) => saidIn(each) === "second");
  expect(originalIn("codex", read, String(old?.["from"]))).toContain('"second"');
});

test("Codex: a fork shows the conversation of its parent up to the line in history_base, and counts only new model calls", () => {
  const numbered = (from: number, lines: readonly object[]): object[] =>
    lines.map((each, at) => ({ ordinal: from + at, ...each }));
  const parent = [meta(PARENT), user("one"), says("first"), count(counts(9, 9), counts(9, 9)), user("two")];
  const base = { thread_id: PARENT, end_ordinal_exclusive: 4, end_byte_offset: 1 };
  const fork = [
    meta(ID, { forked_from_id: PARENT, history_base: base }),
    user("three"),
    says("third"),
    count(counts(12, 12), counts(3, 3)),
  ];
  const folder = folderWith({ [place(PARENT)]: numbered(0, parent), [place()]: numbered(4, fork) });
  const reads = readAll("codex", folder);
  expect(reads.map(threadOf)).toEqual([
    ["one", "first", "two"],
    ["one", "first", "three", "third"],
  ]);
  expect(callsIn("codex", reads).map(({ input }) => input)).toEqual([9, 3]);
  const [, read] = reads;
  if (!read) throw new Error("no fork");
  const old = read.lines.find((each) => saidIn(each) === "first");
  expect(originalIn("codex", read, String(old?.["from"]))).toContain('"first"');
});

test("Codex: a message from one agent to another is not an answer of the model", () => {
  const delivered = line("response_item", {
    type: "agent_message",
    author: "/root",
    recipient: "/root/a",
    content: [{ type: "input_text", text: "count the files" }],
  });
  const sent = line("inter_agent_communication", { author: "/root", recipient: "/root/a", content: "and the folders" });
  const sealed = line("response_item", { type: "agent_message", content: [{ type: "encrypted_content", text: null }] });
  const read = readOne("codex", { [place()]: [meta(), delivered, sent, sealed, says("two")] });
  expect(threadOf(read)).toEqual(["meta: count the files", "meta: and the folders", "two"]);
  expect(othersIn(read)).toEqual(["codex:agent_message"]);
});

test("Codex: the type of a message's parts says whether a person wrote the message", () => {
  const said = (texts: readonly string[], kinds: readonly string[]): object =>
    line("response_item", {
      type: "message",
      role: "user",
      content: texts.map((text) => ({ type: "input_text", text })),
      internal_chat_message_metadata_passthrough: { content_item_kinds: kinds },
    });
  const lines = [
    said(["the sky is blue"], ["environments.weather"]),
    said(["# AGENTS.md is what I ask about"], ["user.text"]),
    said(["<environment_context>x</environment_context>", "and this"], []),
  ];
  expect(threadOf(readOne("codex", { [place()]: [meta(), ...lines] }))).toEqual([
    "meta: the sky is blue",
    "# AGENTS.md is what I ask about",
    "<environment_context>x</environment_context> | and this",
  ]);
});

test("Codex: a command with a failed item counts as failed, even if its output looks successful", () => {
  const call = (id: string): object[] => [
    line("response_item", { type: "function_call", name: "exec_command", arguments: "{}", call_id: id }),
    line("response_item", { type: "function_call_output", call_id: id, output: `output of ${id}` }),
  ];
  const done = (id: string, exit_code: number): object =>
    line("event_msg", { type: "item_completed", item: { type: "CommandExecution", id, exit_code } });
  const lines = [...call("c1"), done("c1", 2), ...call("c2"), done("c2", 0), says("end")];
  expect(threadOf(readOne("codex", { [place()]: [meta(), ...lines] }))).toEqual([
    "exec_command",
    "failed: output of c1",
    "exec_command",
    "output of c2",
    "end",
  ]);
});

test("Codex: the parent of a subagent is found in two different fields", () => {
  const children = [
    { source: { subagent: { thread_spawn: { parent_thread_id: PARENT } } } },
    { source: { subagent: "review" }, parent_thread_id: PARENT },
  ];
  for (const more of children)
    expect(readOne("codex", { [place()]: [meta(ID, more), user("q")] }).parentId).toBe(PARENT);
});

test("Codex: an active thread hides its archived copy, and a plain file hides its compressed copy", () => {
  const lines = (text: string): readonly object[] => [meta(), user(text)];
  const archived = `archived_sessions/rollout-2026-08-20T09-00-00-${ID}.jsonl`;
  expect(threadOf(readOne("codex", { [archived]: lines("archived"), [place()]: lines("active") }))).toEqual(["active"]);
  expect(othersIn(readOne("codex", { [archived]: lines("archived") }))).toEqual(["codex:archived"]);
  const text = lines("compressed")
    .map((each) => JSON.stringify(each))
    .join("\n");
  const zst = { [`${place()}.zst`]: zstdCompressSync(Buffer.from(text)) };
  expect(threadOf(readOne("codex", zst))).toEqual(["compressed"]);
  expect(threadOf(readOne("codex", { ...zst, [place()]: lines("plain") }))).toEqual(["plain"]);
});

const THREADS = `CREATE TABLE threads (id TEXT, name TEXT); INSERT INTO threads VALUES ('${ID}', 'From the database')`;

test("Codex: the name in the database replaces the name in the index, and a new name counts as a change", () => {
  const index = [
    { id: ID, thread_name: "First name" },
    { id: ID, thread_name: "From the index" },
  ];
  const folder = folderWith({ [place()]: [meta(), user("q")], "session_index.jsonl": index });
  const [before] = readAll("codex", folder);
  expect(before && titleOf(before)).toBe("From the index");
  execute(join(folder, "state_5.sqlite"), THREADS);
  const [after] = readAll("codex", folder);
  expect(after && titleOf(after)).toBe("From the database");
  expect(after?.unit.stamp).not.toBe(before?.unit.stamp);
});

test("Codex: the database may be in a separate folder", () => {
  vi.stubEnv("CODEX_SQLITE_HOME", folderWith({ "state_5.sqlite": THREADS }));
  expect(titleOf(readOne("codex", { [place()]: [meta(), user("q")] }))).toBe("From the database");
});

test("Codex: if the database cannot be read, only the names of threads are missing", () => {
  const folder = folderWith({ [place()]: [meta(), user("q")] });
  writeFileSync(join(folder, "state_5.sqlite"), "not a database");
  const { units, problems } = codex.units(folder);
  expect(units.length).toBe(1);
  expect(problems.map(({ message }) => message)).toEqual([
    expect.stringContaining("only the names of threads could not be read"),
  ]);
});

test("Codex: a failed command, a text that Codex wrote and a picture are read", () => {
  const output = JSON.stringify({ output: "no such file", metadata: { exit_code: 2 } });
  const picture = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
  const read = readOne("codex", {
    [place()]: [
      meta(),
      user("<turn_aborted>\nby the user</turn_aborted>"),
      line("response_item", {
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: "look" }, picture],
      }),
      line("response_item", { type: "function_call", name: "shell", arguments: "{}", call_id: "c1" }),
      line("response_item", { type: "function_call_output", call_id: "c1", output }),
    ],
  });
  expect(threadOf(read)).toEqual([
    "meta: <turn_aborted>\nby the user</turn_aborted>",
    "look | image",
    "shell",
    "failed: no such file",
  ]);
});

test("Codex: an added line changes the stamp of a thread, which shows that the thread must be read again", () => {
  const lines = [meta(), user("q")];
  const folder = folderWith({ [place()]: lines });
  const before = unitsIn("codex", folder)[0]?.stamp;
  folderWith({ [place()]: [...lines, says("a")] }, folder);
  expect(unitsIn("codex", folder)[0]?.stamp).not.toBe(before);
});
