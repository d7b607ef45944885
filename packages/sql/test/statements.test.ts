import { expect, test } from "vitest";
import { isStatement, splitStatements, statementsOf } from "../src/plan/statements.ts";

test.each([
  ["a text", "SELECT ';'", 1],
  ["a quote in a text", "SELECT 'it''s; so'", 1],
  ["a text with escapes", String.raw`SELECT E'it\'s; so'`, 1],
  ["a word that ends with e before a text", "SELECT DATE'2026-01-01'; SELECT 2", 2],
  ["a name", 'SELECT 1 AS ";"', 1],
  ["comments", "SELECT 1 -- ; one\n/* ; two */", 1],
  ["dollars", "SELECT $$ ; $$, $a$ ; $$ ; $a$", 1],
  ["nothing between", "SELECT 1;; ; SELECT 2;", 2],
  ["a text that is open", "SELECT 1; SELECT '; ;", 2],
])("semicolons stay where they stand in %s", (_, sql, count) => {
  expect(statementsOf(sql)).toHaveLength(count);
});

test("an error names the line of the whole text, and what is unfinished is left", () => {
  expect(splitStatements("SELECT 1;\nSELECT 2;\nSELECT '")).toEqual({
    whole: ["SELECT 1", "\nSELECT 2"],
    rest: "\n\nSELECT '",
  });
  expect(isStatement(" -- nothing\n/* at all */ ")).toBe(false);
});
