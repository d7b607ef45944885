import { expect, test } from "vitest";
import { mayReadHistory } from "../src/plan/named-tables.ts";

test.each([
  "SELECT 42",
  "SELECT status, count(*) FROM platform.sessions GROUP BY 1 ORDER BY 2 DESC",
  "SELECT 'a', 'b'",
  "FROM range(10)",
])("a statement that cannot read transcripts does not search for them: %s", (sql) => {
  expect(mayReadHistory(sql)).toBe(false);
});

test.each([
  "FROM claude.messages",
  'FROM "claude"."messages"',
  "FROM claude_plans",
  "FROM history.sessions",
  "SELECT * FROM all_usage",
  "SELECT skein.rates('x')",
  "SHOW ALL TABLES",
  "DESC messages",
  "FROM (DESCRIBE messages)",
  "SUMMARIZE x",
  "PRAGMA database_list",
  "FROM duckdb_tables()",
  "FROM information_schema.tables",
  "FROM read_text('/a')",
  "FROM glob('/a/*')",
  "FROM '/a/b.jsonl'",
  'FROM "/a/b.jsonl"',
  "FROM range(3), '/a/b.jsonl'",
  "FROM query('FROM claude.messages')",
])("a statement that may read transcripts searches for them: %s", (sql) => {
  expect(mayReadHistory(sql)).toBe(true);
});
