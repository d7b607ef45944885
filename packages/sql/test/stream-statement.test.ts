import { expect, test } from "vitest";
import type { Sql } from "@skein/sql";
import { ask, folder, open, write } from "./sql.ts";

async function count(sql: Sql, statement: string, most = Infinity): Promise<number> {
  let rows = 0;
  for await (const answer of sql.stream(statement))
    for await (const piece of answer.rows) {
      rows += piece.length;
      if (rows >= most) break;
    }
  return rows;
}

const LATE = "SELECT if(range = 250000, error('enough'), repeat('x', 100)) AS x FROM range(300000)";

test("a stream that fails after its first rows throws the error", async () => {
  const sql = await open(folder());
  await expect(count(sql, LATE)).rejects.toThrow("enough");
  expect(await count(sql, "SELECT range FROM range(300000)")).toBe(300_000);
});

test("a streamed answer is complete after an answer that was read only partly, and inside the caller's transaction", async () => {
  const sql = await open(folder());
  await count(sql, "SELECT range FROM range(300000)", 10);
  expect(await count(sql, "SELECT range FROM range(300000)")).toBe(300_000);
  await sql.run("BEGIN; CREATE TABLE mine AS SELECT 7 AS n");
  expect(await count(sql, "FROM mine")).toBe(1);
  await sql.run("COMMIT");
  expect(await ask(sql, "FROM mine")).toEqual([{ n: 7 }]);
});

test(
  "a statement that needs more memory than the limit gets more memory, even before the files are counted",
  { timeout: 120_000 },
  async () => {
    const root = folder();
    write(root, "projects/p/s.jsonl", [{ type: "user", uuid: "u1" }]);
    const sql = await open(root);
    // DuckDB cannot write such a list to disk.
    const statement =
      "SELECT len(list(repeat('x', 1000) || range)) AS n, (SELECT count(*) FROM claude_conversations) AS lines FROM range(250000)";
    expect(await ask(sql, statement)).toEqual([{ n: 250_000, lines: 1 }]);
    expect(await count(sql, statement)).toBe(1);
  },
);
