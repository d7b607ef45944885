import { writeCorpus } from "@skein/history/testing";
import { discover } from "@skein/history";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSql } from "@skein/sql";
import { afterAll, expect, test } from "vitest";
import { ask, folder, open, write } from "./sql.ts";

/**
 * An SQL column with the transcripts that its query reads. In the reader's list, an empty file replaces each of the
 * other transcripts.
 */
const READ = "list_filter(getvariable('skein_files'), lambda f: contains(f, '/projects/')) AS read";

// The files are only read, so all tests share them.
const root = mkdtempSync(join(tmpdir(), "skein-sql-test-"));
writeCorpus({ folder: root, files: 10, bytes: 200_000, subagentEvery: 0 });
const [first] = discover({ dataPath: root }).files;
const sessionId = first?.sessionId ?? "";
const file = first?.path ?? "";
writeFileSync(file, readFileSync(file, "utf8").replaceAll(/"cwd":"[^"]*"/g, '"cwd":"/home/dev/project-only"'));
const corpus = await createSql({ roots: [root], threads: 2 });
afterAll(() => {
  corpus.close();
  rmSync(root, { recursive: true, force: true });
});

test.each([
  ["conversations of a session", "claude_conversations", "session_id = 'SESSION'"],
  ["calls of a session under two conditions", "claude.tool_calls", "session_id = 'SESSION' AND name <> 'x'"],
  ["messages of a file", "claude.messages", "file = 'FILE'"],
  [
    "messages of several sessions of which one exists",
    "claude.messages",
    "session_id IN ('SESSION', 'nobody', 'none')",
  ],
  ["a project that contains a word", "claude_conversations", "project_path LIKE '%project-only%'"],
  ["a project in another letter case", "claude_conversations", "project_path ILIKE '%PROJECT-only'"],
  ["a session by the beginning of its id", "claude.tool_calls", "starts_with(session_id, 'BEGINNING')"],
  ["a session and a project", "claude.messages", "session_id = 'SESSION' AND project_path = '/home/dev/project-only'"],
])("a query for %s reads one file only", async (_, table, condition) => {
  const where = condition
    .replace("SESSION", sessionId)
    .replace("FILE", file)
    .replace("BEGINNING", sessionId.slice(0, 13));
  const [found] = await ask(corpus, `SELECT count(*) AS n, max(line) AS line, ${READ} FROM ${table} WHERE ${where}`);
  expect(found?.["read"]).toEqual([file]);
  // The condition of this query is not recognized, so the query reads all files.
  const loose = where.replaceAll(/\b(session_id|project_path|file)\b/g, "concat($1, '')");
  const [expected] = await ask(corpus, `SELECT count(*) AS n, max(line) AS line FROM ${table} WHERE ${loose}`);
  expect({ n: found?.["n"], line: found?.["line"] }).toEqual(expected);
  expect(Number(found?.["n"])).toBeGreaterThan(0);
});

test.each([
  [
    "another table has no such condition",
    "SELECT READ FROM claude_conversations c, claude.messages WHERE c.session_id = 'SESSION'",
  ],
  [
    "either of two conditions is enough",
    "SELECT READ FROM claude_conversations WHERE session_id = 'SESSION' OR line = 1",
  ],
  ["it compares calls over all files", "SELECT READ FROM claude.responses WHERE session_id = 'SESSION'"],
  ["a session is excluded", "SELECT READ FROM claude_conversations WHERE session_id <> 'SESSION'"],
  [
    "a value in a list contains quotes",
    "SELECT READ FROM claude_conversations WHERE session_id IN ('SESSION', 'a'', ''b') OR session_id = 'SESSION'",
  ],
  ["the condition is about a time", "SELECT READ FROM claude_conversations WHERE timestamp > '2000-01-01'"],
])("a query reads all files if %s", async (_, query) => {
  const statement = query.replace("SESSION", sessionId).replace("READ", READ);
  const [found] = await ask(corpus, `${statement} LIMIT 1`);
  expect(found?.["read"]).toHaveLength(10);
});

test("an unknown session has no rows, and a session or project with a quote in its name is found", async () => {
  const other = folder();
  write(other, "projects/p/it's.jsonl", [{ type: "user", uuid: "u1", cwd: "/it's" }]);
  const sql = await open(other);
  expect(await ask(sql, "SELECT 1 AS n FROM claude_conversations WHERE session_id = 'nobody'")).toEqual([]);
  expect(await ask(sql, "SELECT line FROM claude_conversations WHERE session_id = 'it''s'")).toEqual([{ line: 1 }]);
  expect(await ask(sql, "SELECT line FROM claude_conversations WHERE project_path = '/it''s'")).toEqual([{ line: 1 }]);
});
