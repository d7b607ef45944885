import { expect, test } from "vitest";
import { isStatement, splitStatements, statementsOf } from "../src/plan/split-statements.ts";

test.each([
  ["a semicolon in a text", "SELECT ';'", 1],
  ["a quote in a text", "SELECT 'it''s; so'", 1],
  ["a text with escapes", String.raw`SELECT E'it\'s; so'`, 1],
  ["a word that ends with e before a text literal", "SELECT DATE'2026-01-01'; SELECT 2", 2],
  ["a semicolon in a quoted name", 'SELECT 1 AS ";"', 1],
  ["semicolons in comments", "SELECT 1 -- ; one\n/* ; two */", 1],
  ["semicolons in dollar quotes", "SELECT $$ ; $$, $a$ ; $$ ; $a$", 1],
  ["empty statements", "SELECT 1;; ; SELECT 2;", 2],
  ["a text literal without an end", "SELECT 1; SELECT '; ;", 2],
])("splitting a text with %s gives the right number of statements", (_, sql, count) => {
  expect(statementsOf(sql)).toHaveLength(count);
});

test("each statement keeps its line number, and an unfinished statement is returned as the rest", () => {
  expect(splitStatements("SELECT 1;\nSELECT 2;\nSELECT '")).toEqual({
    whole: ["SELECT 1", "\nSELECT 2"],
    rest: "\n\nSELECT '",
  });
  expect(isStatement(" -- nothing\n/* at all */ ")).toBe(false);
});
