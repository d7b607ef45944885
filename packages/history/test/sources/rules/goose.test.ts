/** Tests the rules for reading Goose's database. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { sources } from "../../../src/sources/registry.ts";
import { objectOf } from "../../../src/model/value.ts";
import { callsIn, execute, folderWith, readOne, saidIn, threadOf, titleOf, unitsIn } from "./one-source.ts";

const TABLES = `CREATE TABLE sessions (id TEXT, name TEXT, description TEXT, working_dir TEXT, updated_at TEXT, input_tokens INTEGER, output_tokens INTEGER, accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, model_config_json TEXT);
  CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER);`;
const session = (accumulated: string, name = "Name"): string =>
  `INSERT INTO sessions VALUES ('s1', '${name}', 'Description', '/srv/demo', '2026-03-01 10:00:09', 50, 5, ${accumulated}, '{"model_name":"m"}');`;
const message = (role: string, content: string): string =>
  `INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('s1', '${role}', '${content}', 1772359201);`;
const read = (...statements: readonly string[]) =>
  readOne("goose", { "sessions.db": [TABLES, ...statements].join("\n") });

test("Goose: the counters of the last model call count only if the session has no sums", () => {
  expect(callsIn("goose", [read(session("120, 100, 20"))])).toMatchObject([
    { model: "m", input: 100, output: 20, at: "2026-03-01T10:00:09.000Z" },
  ]);
  expect(callsIn("goose", [read(session("NULL, NULL, NULL"))])).toMatchObject([{ input: 50, output: 5 }]);
});

const LEDGER = `CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY, session_id TEXT, created_timestamp INTEGER, model TEXT, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL, cost_source TEXT, is_compaction INTEGER);
  ALTER TABLE sessions ADD COLUMN accumulated_cache_read_tokens INTEGER; ALTER TABLE sessions ADD COLUMN parent_session_id TEXT;`;
const call = (values: string): string => `INSERT INTO usage_ledger VALUES (NULL, 's1', ${values});`;

test("Goose: each row of the ledger is a model call with its model, cost and cache, and the input in the row includes the cache", () => {
  const rows = [call("1772359203, 'small', 100, 10, 60, 30, 0.5, 'provider_reported', 0")];
  expect(callsIn("goose", [read(session("0, 100, 10"), LEDGER, ...rows)])).toMatchObject([
    { model: "small", input: 10, cacheRead: 60, cacheWrite: 30, output: 10, usd: 0.5, at: "2026-03-01T10:00:03.000Z" },
  ]);
});

test("Goose: a carried-forward row of the ledger is one sum, and tokens that no row contains are a second sum", () => {
  const carried = call("1772359203, NULL, 70, 7, 0, 0, NULL, 'carried_forward', 0");
  const found = callsIn("goose", [read(session("0, 100, 10"), LEDGER, carried)]);
  expect(found.map(({ id, model, input, output }) => [id, model, input, output])).toEqual([
    ["sum:goose:s1:1", "m", 70, 7],
    ["sum:goose:s1", "m", 30, 3],
  ]);
  const cached = "UPDATE sessions SET accumulated_cache_read_tokens = 80;";
  expect(callsIn("goose", [read(session("0, 100, 10"), LEDGER, cached)])).toMatchObject([{ input: 20, cacheRead: 80 }]);
});

test("Goose: a session with a parent is a subagent of the parent, and a failed tool is marked", () => {
  const failed =
    '[{"type":"toolResponse","id":"t1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"no"}],"isError":true}}}]';
  const parent = "UPDATE sessions SET parent_session_id = 's0';";
  const found = read(session("1, 1, 0"), LEDGER, parent, message("user", failed));
  expect([found.parentId, found.unit.head]).toEqual(["s0", { cwd: "/srv/demo", parentId: "s0" }]);
  expect(found.lines.filter(({ message }) => message).map(saidIn)).toEqual(['failed: [{"type":"text","text":"no"}]']);
});

test("Goose: a time in milliseconds is recognised, and an answer has the model in its row", () => {
  const named =
    'UPDATE messages SET created_timestamp = 1772359201000, metadata_json = \'{"inference":{"requestedModel":"big"}}\';';
  const said = message("assistant", '[{"type":"text","text":"yes"}]');
  const [line] = read(session("1, 1, 0"), said, "ALTER TABLE messages ADD COLUMN metadata_json TEXT;", named).lines;
  expect([line?.["timestamp"], objectOf(line?.["message"])["model"]]).toEqual(["2026-03-01T10:00:01.000Z", "big"]);
});

test("Goose: messages have their time, failures are marked, and a row that is not JSON is damage", () => {
  const failed = '[{"type":"toolResponse","id":"t1","toolResult":{"status":"error","error":"not found"}}]';
  const found = read(session("1, 1, 0"), message("user", failed), message("assistant", "half a r"));
  expect(threadOf(found)).toEqual(["failed: not found"]);
  expect(found.lines[0]?.["timestamp"]).toBe("2026-03-01T10:00:01.000Z");
  expect(found.damage).toEqual(["a message that is not JSON: half a r"]);
});

test("Goose: the title of a session is its name, or its description if it has no name", () => {
  expect(titleOf(read(session("1, 1, 0")))).toBe("Name");
  expect(titleOf(read(session("1, 1, 0", "")))).toBe("Description");
});

test("Goose: new tokens and a new time count as changes, and unknown tables are reported as a problem", () => {
  const folder = folderWith({ "sessions.db": [TABLES, session("1, 1, 0")].join("\n") });
  const stamps = new Set([unitsIn("goose", folder)[0]?.stamp]);
  for (const change of ["accumulated_total_tokens = 9", "updated_at = '2026-03-02 00:00:00'"]) {
    execute(join(folder, "sessions.db"), `UPDATE sessions SET ${change}`);
    stamps.add(unitsIn("goose", folder)[0]?.stamp);
  }
  expect(stamps.size).toBe(3);
  execute(join(folder, "sessions.db"), "ALTER TABLE messages RENAME COLUMN content_json TO body");
  const goose = sources.find(({ name }) => name === "goose");
  expect(goose?.units(folder).problems[0]?.message).toContain("newer version");
});
