/** Rules of Goose's database. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { sources } from "../../../src/sources/registry.ts";
import { callsIn, execute, folderWith, readOne, threadOf, titleOf, unitsIn } from "./one-source.ts";

const TABLES = `CREATE TABLE sessions (id TEXT, name TEXT, description TEXT, working_dir TEXT, updated_at TEXT, input_tokens INTEGER, output_tokens INTEGER, accumulated_total_tokens INTEGER, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, model_config_json TEXT);
  CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER);`;
const session = (accumulated: string, name = "Name"): string =>
  `INSERT INTO sessions VALUES ('s1', '${name}', 'Description', '/srv/demo', '2026-03-01 10:00:09', 50, 5, ${accumulated}, '{"model_name":"m"}');`;
const message = (role: string, content: string): string =>
  `INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('s1', '${role}', '${content}', 1772359201);`;
const read = (...statements: readonly string[]) =>
  readOne("goose", { "sessions.db": [TABLES, ...statements].join("\n") });

test("Goose: the sums of the session count; the counters of the last call count only if there are no sums", () => {
  expect(callsIn("goose", [read(session("120, 100, 20"))])).toMatchObject([
    { model: "m", input: 100, output: 20, at: "2026-03-01T10:00:09.000Z" },
  ]);
  expect(callsIn("goose", [read(session("NULL, NULL, NULL"))])).toMatchObject([{ input: 50, output: 5 }]);
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
