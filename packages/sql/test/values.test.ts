import { expect, test } from "vitest";
import { ask, folder, open, write } from "./sql.ts";

test.each([
  ["max(t) - min(t) FROM (VALUES (TIMESTAMP '2026-01-01'), (TIMESTAMP '2026-01-02 10:30:00')) s(t)", "1 day 10:30:00"],
  ["INTERVAL 90 SECOND", "00:01:30"],
  ["[1::BIGINT, 9007199254740993]", [1, "9007199254740993"]],
  ["{'n': sum(x), 'j': '{\"a\":1}'::JSON} FROM (VALUES (1), (2)) s(x)", { n: 3, j: { a: 1 } }],
  ["1.10::DECIMAL(18, 2)", 1.1],
  ["0.0000001::DECIMAL(18, 7)", 0.0000001],
  ["1234567890123456.78::DECIMAL(18, 2)", "1234567890123456.78"],
  ["9007199254740991::HUGEINT", 9007199254740991],
  ["9007199254740993::HUGEINT", "9007199254740993"],
  ["9007199254740990.99::DECIMAL(18, 2)", "9007199254740990.99"],
])("the value of %s is %j", async (expression, expected) => {
  const root = folder();
  write(root, "projects/p/be74c085-8d87-49a7-9100-7f0e83f29a10.jsonl", [{ type: "user" }]);
  const sql = await open(root);
  expect(await ask(sql, `SELECT ${expression.replace(/(?= FROM |$)/, " AS value")}`)).toEqual([{ value: expected }]);
});

test("JSON columns are parsed values, with run and with stream", async () => {
  const root = folder();
  const use = { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } };
  write(root, "projects/p/be74c085-8d87-49a7-9100-7f0e83f29a10.jsonl", [
    { type: "assistant", message: { role: "assistant", content: [use], usage: { input_tokens: 1 } } },
  ]);
  const sql = await open(root);
  const statement = "SELECT tool_uses, token_usage, [tool_uses] AS list FROM claude_conversations";
  const expected = [[[use], { input_tokens: 1 }, [[use]]]];
  expect(await sql.run(statement)).toMatchObject([{ rows: expected }]);
  for await (const { rows } of sql.stream(statement)) for await (const some of rows) expect(some).toEqual(expected);
});
