import type { Table } from "@skein/sql";
import { expect, test } from "vitest";
import { completions } from "../../src/commands/sql/complete.ts";

const table = (name: string, ...columns: readonly string[]): Table => ({
  name,
  about: "",
  columns: columns.map((column) => ({ name: column, type: "VARCHAR", about: "" })),
});
const TABLES = [table("claude_plans", "plan_name", "content"), table("claude.messages", "model", "text", "timestamp")];

test.each([
  ["a table", "SELECT * FROM claude_p", ["claude_plans"]],
  ["a table of a schema", "SELECT * FROM claude.m", ["claude.messages"]],
  ["a column of the tables in the statement", "FROM claude.messages WHERE t", ["text", "then", "timestamp", "to"]],
  ["a column of any table, if the statement has no table", "SELECT cont", ["content"]],
  ["a column after a table's alias and a dot", "FROM claude.messages m WHERE m.t", ["m.text", "m.timestamp"]],
  ["a keyword in the letter case of the typed letters", "SELECT * FR", ["FROM"]],
  ["an empty word", "SELECT ", []],
])("completions of %s", (_, statement, expected) => {
  expect(completions(TABLES, statement)[0]).toEqual(expected);
});
