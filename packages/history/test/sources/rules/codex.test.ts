/** Rules of Codex's rollouts. */
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";
import { callsIn, execute, folderWith, othersIn, readAll, readOne, threadOf, titleOf, unitsIn } from "./one-source.ts";

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

test("Codex: without the last response the difference of two sums counts, and a smaller sum starts again from 0", () => {
  const lines = [meta(), turn("a"), says("x"), count(counts(100, 10)), says("y"), count(counts(250, 30))];
  expect(sums([...lines, says("z"), count(counts(70, 7))])).toEqual([
    [100, 10],
    [150, 20],
    [70, 7],
  ]);
});

test("Codex: counters that were reset because the context was full are not a call", () => {
  const reset = counts(0, 0, { total_tokens: 272_000 });
  const lines = [meta(), turn("a"), says("x"), count(counts(100, 10)), count(reset), says("y"), count(counts(60, 6))];
  expect(sums(lines)).toEqual([
    [100, 10],
    [60, 6],
  ]);
});

test("Codex: a call has the model of its turn", () => {
  const lines = [meta(), turn("a", "gpt-5.1"), says("x"), count(counts(1, 1)), turn("b", "gpt-5.2"), says("y")];
  const calls = callsIn("codex", [readOne("codex", { [place()]: [...lines, count(counts(3, 3))] })]);
  expect(calls.map(({ model }) => model)).toEqual(["gpt-5.1", "gpt-5.2"]);
});

test("Codex: a turn that was rolled back is not on the thread", () => {
  const rolledBack = line("event_msg", { type: "thread_rolled_back", num_turns: 1 });
  const lines = [meta(), user("first"), says("one"), user("second"), says("two"), rolledBack, user("third")];
  expect(threadOf(readOne("codex", { [place()]: lines }))).toEqual(["first", "one", "third"]);
});

test("Codex: if the parent of a fork was deleted, the lines that were written in one burst count as the parent's", () => {
  const copied = [says("old", 0), count(counts(100, 10), counts(100, 10))].map((each) => ({
    ...each,
    timestamp: "2026-08-20T09:00:00.100Z",
  }));
  const lines = [meta(ID, { forked_from_id: PARENT }), ...copied];
  second += 5;
  expect(sums([...lines, says("new", 2), count(counts(150, 15), counts(50, 5))])).toEqual([[50, 5]]);
});

test("Codex: a subagent names its parent in one of two places", () => {
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

test("Codex: the name in the database takes precedence over the name in the index, and a new name counts as a change", () => {
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

test("Codex: a failed command, a text of the program and a picture are read", () => {
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

test("Codex: the stamp of a thread changes as soon as a line is added", () => {
  const lines = [meta(), user("q")];
  const folder = folderWith({ [place()]: lines });
  const before = unitsIn("codex", folder)[0]?.stamp;
  folderWith({ [place()]: [...lines, says("a")] }, folder);
  expect(unitsIn("codex", folder)[0]?.stamp).not.toBe(before);
});
