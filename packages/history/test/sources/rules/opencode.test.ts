/** Tests the rules for reading opencode's databases and files. */
import { existsSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { callsIn, execute, folderWith, othersIn, readAll, readOne, threadOf, titleOf, unitsIn } from "./one-source.ts";

const FIRST = `CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, revert TEXT, agent TEXT, time_updated INTEGER);
  CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
  CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);`;
const SECOND = `CREATE TABLE session_v2 (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, agent TEXT, time_updated INTEGER);
  CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER, data TEXT);`;

const text = (value: string | null): string => (value === null ? "NULL" : `'${value.replaceAll("'", "''")}'`);
const json = (value: unknown): string => text(JSON.stringify(value));

const session = (id: string, { title = "t", parent = null as string | null, revert = null as object | null } = {}) =>
  `INSERT INTO session VALUES (${text(id)}, ${text(parent)}, '/srv/demo', ${text(title)}, '1.0', ${revert === null ? "NULL" : json(revert)}, 'build', 5);`;
const message = (id: string, data: object, { of = "ses_1", at = 1 } = {}): string =>
  `INSERT INTO message VALUES ('${id}', '${of}', ${at}, ${json({ modelID: "m", time: { created: at }, ...data })});`;
const part = (id: string, of: string, data: object): string =>
  `INSERT INTO part VALUES ('${id}', '${of}', 'ses_1', ${json(data)});`;
const tokens = (input: number, output: number) => ({ input, output, reasoning: 0, cache: { read: 0, write: 0 } });
const step = (input: number, output: number) => ({ type: "step-finish", cost: 1, tokens: tokens(input, output) });
const says = (value: string, more: object = {}) => ({ type: "text", text: value, ...more });

const first = (...statements: readonly string[]) =>
  readOne("opencode", { "opencode.db": [FIRST, session("ses_1"), ...statements].join("\n") });
const counted = (...statements: readonly string[]) =>
  callsIn("opencode", [first(...statements)]).map(({ input, output }) => [input, output]);

test("opencode: only the tokens of steps count, because the tokens of a message repeat its last step", () => {
  expect(
    counted(
      message("m1", { role: "assistant", tokens: tokens(20, 2) }),
      part("p1", "m1", says("a")),
      part("p2", "m1", step(10, 1)),
      part("p3", "m1", says("b")),
      part("p4", "m1", step(20, 2)),
      part("p5", "m1", says("cut off")),
    ),
  ).toEqual([
    [10, 1],
    [20, 2],
  ]);
});

test("opencode: two steps with equal tokens are two model calls, and a long step counts too", () => {
  const long = { ...step(10, 1), snapshot: "x".repeat(200) };
  expect(counted(message("m1", { role: "assistant" }), part("p1", "m1", long), part("p2", "m1", long))).toHaveLength(2);
});

test("opencode: the tokens of a compaction count, and its text is the summary", () => {
  const statements = [
    message("m1", { role: "assistant", summary: true }),
    part("p1", "m1", says("what happened")),
    part("p2", "m1", step(7, 3)),
  ];
  expect(counted(...statements)).toEqual([[7, 3]]);
  expect(threadOf(first(...statements))).toEqual(["(compaction)", "summary: what happened"]);
});

test("opencode: a text that the program added is not a typed prompt, and messages are ordered by time", () => {
  const read = first(
    message("m9", { role: "user" }, { at: 1 }),
    part("p1", "m9", says("typed")),
    message("m1", { role: "user" }, { at: 2 }),
    part("p2", "m1", says("added", { synthetic: true })),
  );
  expect(threadOf(read)).toEqual(["typed", "meta: <system-reminder>added</system-reminder>"]);
});

test("opencode: a failed tool call, an error, a revert and a row that is not JSON are kept", () => {
  const call = { type: "tool", callID: "c1", tool: "bash", state: { status: "error", input: {}, error: "not found" } };
  const read = readOne("opencode", {
    "opencode.db": [
      FIRST,
      session("ses_1", { revert: { messageID: "m1" } }),
      message("m1", { role: "assistant", error: { name: "MessageAbortedError" } }),
      part("p1", "m1", call),
      "INSERT INTO part VALUES ('p2', 'm1', 'ses_1', 'half a r');",
    ].join("\n"),
  });
  expect(threadOf(read)).toEqual(["bash", "failed: not found"]);
  expect(othersIn(read)).toEqual(expect.arrayContaining(["opencode:error", "opencode:revert"]));
  expect(read.damage).toEqual(["a row that is not a JSON object: half a r"]);
});

test("opencode: a session in the tables of both versions is read from the newer version and listed once", () => {
  const row = (id: string, value: string) =>
    `INSERT INTO session_v2 VALUES ('${id}', NULL, '/srv/demo', ${text(value)}, '2.0', 'build', 5);`;
  const folder = folderWith({
    "opencode.db": [
      FIRST,
      SECOND,
      session("ses_1", { title: "old" }),
      session("ses_2"),
      row("ses_1", "new"),
      row("ses_3", "n"),
    ].join("\n"),
  });
  const reads = readAll("opencode", folder);
  expect(reads.map(({ id }) => id)).toEqual(["ses_1", "ses_2", "ses_3"]);
  expect(reads[0] && titleOf(reads[0])).toBe("new");
});

test("opencode: a database of version 1 is read even if it has the empty table of version 2", () => {
  const folder = folderWith({
    "opencode.db": `${FIRST} CREATE TABLE session_message (session_id TEXT, seq INTEGER, data TEXT); ${session("ses_1")}`,
  });
  expect(unitsIn("opencode", folder).map(({ extra }) => extra?.["form"])).toEqual([1]);
});

test("opencode: a subagent has a link to the call that started it", () => {
  const call = {
    type: "tool",
    callID: "c1",
    tool: "task",
    state: { status: "completed", input: {}, output: "", metadata: { sessionId: "ses_2" } },
  };
  const folder = folderWith({
    "opencode.db": [
      FIRST,
      session("ses_1"),
      session("ses_2", { parent: "ses_1", title: "Look" }),
      message("m1", { role: "assistant" }),
      part("p1", "m1", call),
    ].join("\n"),
  });
  const [, child] = readAll("opencode", folder);
  expect(child).toMatchObject({
    parentId: "ses_1",
    meta: { toolUseId: "c1", agentType: "build", description: "Look" },
  });
  expect(child?.unit.head).toEqual({ cwd: "/srv/demo", parentId: "ses_1" });
});

test("opencode: the stamp of a session changes after a new message, a new part and a new title", () => {
  const folder = folderWith({ "opencode.db": [FIRST, session("ses_1"), message("m1", { role: "user" })].join("\n") });
  const stamps = new Set([unitsIn("opencode", folder)[0]?.stamp]);
  const changes = [
    message("m2", { role: "user" }, { at: 2 }),
    part("p1", "m1", says("x")),
    "UPDATE session SET time_updated = 6;",
  ];
  for (const [at, change] of changes.entries()) {
    execute(join(folder, "opencode.db"), change);
    stamps.add(unitsIn("opencode", folder)[0]?.stamp);
    expect(stamps.size).toBe(at + 2);
  }
});

/** Returns a statement that adds a row. A later row has a smaller id, so only `seq` gives the order. */
const second = (type: string, data: object, seq: number): string =>
  `INSERT INTO session_message VALUES ('m${10 - seq}', 'ses_1', '${type}', ${seq}, ${seq}, ${json(data)});`;
const readSecond = (...statements: readonly string[]) =>
  readOne("opencode", {
    "opencode.db": [
      SECOND,
      "INSERT INTO session_v2 VALUES ('ses_1', NULL, '/srv/demo', 't', '2.0', 'build', 5);",
      ...statements,
    ].join("\n"),
  });

test("opencode: after listing an old database, a write is noticed, even through a link or only in the write-ahead log", () => {
  const root = folderWith({ "opencode-old.db": [FIRST, session("ses_1")].join("\n") });
  const [path, link] = [join(root, "opencode-old.db"), join(root, "opencode.db")];
  symlinkSync(path, link);
  utimesSync(path, 1_700_000_000, 1_700_000_000);
  const idsIn = (folder: string) => unitsIn("opencode", folder).map(({ id }) => id);
  expect([idsIn(root), idsIn(link)]).toEqual([["ses_1"], ["ses_1"]]);
  execute(path, session("ses_2"));
  expect([idsIn(root), idsIn(link)]).toEqual([
    ["ses_1", "ses_2"],
    ["ses_1", "ses_2"],
  ]);
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL");
  for (const file of [path, `${path}-wal`]) if (existsSync(file)) utimesSync(file, 1_700_000_001, 1_700_000_001);
  expect(idsIn(root)).toHaveLength(2);
  database.exec(session("ses_3"));
  expect(idsIn(root)).toHaveLength(3);
  database.close();
});

test("opencode 2.x: rows are sorted by number, and files, notes, failures and summaries are read", () => {
  const failed = {
    type: "tool",
    id: "c1",
    name: "bash",
    state: { status: "error", input: {}, error: { message: "not found" } },
  };
  const read = readSecond(
    second(
      "user",
      { text: "look", files: [{ name: "a.png", mime: "image/png", uri: "data:image/png;base64,AAAA" }] },
      1,
    ),
    second("synthetic", { text: "added" }, 2),
    second("assistant", { content: [failed], model: { id: "m" }, tokens: tokens(5, 2), cost: 0.5 }, 3),
    second("compaction", { summary: "what happened" }, 4),
  );
  expect(threadOf(read)).toEqual([
    "look | image",
    "meta: added",
    "bash",
    "failed: not found",
    "(compaction)",
    "summary: what happened",
  ]);
  expect(callsIn("opencode", [read])).toMatchObject([{ input: 5, output: 2, usd: 0.5, model: "m" }]);
});

test("opencode's older files: messages are sorted by time, and a new or rewritten part counts as a change", () => {
  const files = {
    "storage/session/p/ses_1.json": { id: "ses_1", directory: "/srv/demo", title: "t" },
    "storage/session/p/ses_2.json": { id: "ses_2", directory: "/srv/demo", title: "child", parentID: "ses_1" },
    "storage/message/ses_1/msg_9.json": { role: "user", time: { created: 1 } },
    "storage/message/ses_1/msg_1.json": { role: "user", time: { created: 2 } },
    "storage/part/msg_9/prt_1.json": says("first"),
    "storage/part/msg_1/prt_2.json": says("second"),
  };
  const folder = folderWith(files);
  const [session1, session2] = readAll("opencode", folder);
  expect(session1 && threadOf(session1)).toEqual(["first", "second"]);
  expect(session2?.parentId).toBe("ses_1");
  folderWith({ "storage/part/msg_1/prt_3.json": says("third") }, folder);
  const withThird = unitsIn("opencode", folder)[0]?.stamp;
  expect(withThird).not.toBe(session1?.unit.stamp);
  folderWith({ "storage/part/msg_1/prt_3.json": says("third, and its end") }, folder);
  expect(unitsIn("opencode", folder)[0]?.stamp).not.toBe(withThird);
  execute(join(folder, "opencode.db"), [FIRST, session("ses_1", { title: "in the database" })].join("\n"));
  const [moved] = readAll("opencode", folder);
  expect(moved && titleOf(moved)).toBe("in the database");
  rmSync(join(folder, "opencode.db"));
});

test("opencode: if a newer version copied a session of the oldest versions, only the copy is read", () => {
  const old = "project/srv-demo/storage/session";
  const metadata = {
    time: { created: 1 },
    assistant: { path: { cwd: "/srv/old" }, modelID: "m", tokens: tokens(9, 1) },
  };
  const folder = folderWith({
    "storage/session/p/ses_1.json": { id: "ses_1", directory: "/srv/new", title: "copied" },
    "storage/message/ses_1/msg_1.json": { role: "user", time: { created: 1 } },
    "storage/part/msg_1/prt_1.json": says("newer"),
    [`${old}/info/ses_1.json`]: { id: "ses_1", title: "t" },
    [`${old}/message/ses_1/msg_1.json`]: { role: "user", parts: [says("older")], metadata },
    [`${old}/info/ses_2.json`]: { id: "ses_2", title: "t" },
    [`${old}/message/ses_2/msg_1.json`]: { role: "user", parts: [says("hello")], metadata: { time: { created: 1 } } },
    [`${old}/message/ses_2/msg_2.json`]: '{"id":"msg_2","ro',
    [`${old}/message/ses_2/msg_3.json`]: { role: "assistant", parts: [says("hi")], metadata },
  });
  const reads = readAll("opencode", folder);
  expect(reads.map(({ id, lines }) => [id, lines[0]?.["cwd"]])).toEqual([
    ["ses_1", "/srv/new"],
    ["ses_2", "/srv/old"],
  ]);
  expect(reads.map((read) => threadOf(read))).toEqual([["newer"], ["hello", "hi"]]);
  expect(reads[1]?.damage).toEqual([expect.stringContaining("a document that cannot be read: not JSON")]);
  expect(callsIn("opencode", reads).map(({ input, output }) => [input, output])).toEqual([[9, 1]]);
});
