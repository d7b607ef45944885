import { appendFileSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as tick } from "node:timers/promises";
import { createSql } from "@skein/sql";
import { expect, onTestFinished, test } from "vitest";
import { folder, write } from "./sql.ts";

const STAYS = "projects/p/be74c085-8d87-49a7-9100-7f0e83f29a10.jsonl";
const GOES = "projects/p/be74c085-8d87-49a7-9100-7f0e83f29a11.jsonl";
const BEHIND = "projects/p/be74c085-8d87-49a7-9100-7f0e83f29a12.jsonl";

/** How many ticks (turns of the event loop) after the start of a query a file changes. */
const TICKS = process.env["SKEIN_LONG"] ? [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233] : [0, 1, 3, 8, 34, 144];

test(
  "deleting a file at any moment of a query does not change the rows of another file, with run and with stream",
  { timeout: 120_000 },
  async () => {
    await Promise.all((["run", "stream"] as const).map(goesAway));
  },
);

async function goesAway(how: "run" | "stream"): Promise<void> {
  const root = folder();
  write(root, STAYS, [{ type: "user", uuid: "stays" }]);
  for (const ticks of TICKS) {
    write(root, GOES, [{ type: "user", uuid: `goes ${ticks}` }]);
    const sql = await createSql({ roots: [root], threads: 2 });
    const asked = answered(sql, how);
    for (let at = 0; at < ticks; at += 1) await tick();
    rmSync(join(root, GOES));
    const rows = await asked.finally(() => sql.close());
    expect(rows[0], `${how}, after ${ticks} ticks`).toEqual(["stays", 1]);
  }
}

test(
  "line numbers stay correct when an earlier file grows at any moment of a query",
  { timeout: 120_000 },
  async () => {
    const odd = TICKS.filter((_, at) => at % 2 === 1);
    const even = TICKS.filter((_, at) => at % 2 === 0);
    await Promise.all([odd, even].map(grows));
  },
);

async function grows(moments: readonly number[]): Promise<void> {
  const root = folder();
  const path = write(root, STAYS, [{ type: "user", uuid: "before" }]);
  write(root, BEHIND, [{ type: "user", uuid: "behind" }]);
  for (const ticks of moments) {
    const sql = await createSql({ roots: [root], threads: 2 });
    const asked = answered(sql, "stream", "WHERE message_uuid = 'behind'");
    for (let at = 0; at < ticks; at += 1) await tick();
    appendFileSync(path, `${JSON.stringify({ type: "user", uuid: `more ${ticks}` })}\n`);
    expect(await asked.finally(() => sql.close()), `after ${ticks} ticks`).toEqual([["behind", 1]]);
  }
}

async function answered(
  sql: Awaited<ReturnType<typeof createSql>>,
  how: "run" | "stream",
  where = "ORDER BY file",
): Promise<unknown[]> {
  const statement = `SELECT message_uuid, line FROM claude_conversations ${where}`;
  if (how === "run") return (await sql.run(statement)).flatMap(({ rows }) => rows);
  const all: unknown[] = [];
  for await (const { rows } of sql.stream(statement)) for await (const some of rows) all.push(...some);
  return all;
}

test(
  "a long answer succeeds if only the newest file grows during the answer, and fails if another file grows",
  { timeout: 120_000 },
  async () => {
    const root = folder();
    const line = { type: "user", uuid: "u", message: { role: "user", content: "x".repeat(200) } };
    const older = write(
      root,
      BEHIND,
      Array.from({ length: 30_000 }, () => line),
    );
    const newest = write(
      root,
      STAYS,
      Array.from({ length: 10 }, () => line),
    );
    utimesSync(older, 1, 1);
    const sql = await createSql({ roots: [root], threads: 2 });
    onTestFinished(() => sql.close());
    const ask = async (path: string): Promise<number> => {
      let count = 0;
      for await (const { rows } of sql.stream("SELECT line, content FROM claude_conversations"))
        for await (const some of rows) {
          // The file changes after the first rows, so the query is running.
          if (count === 0) appendFileSync(path, `${JSON.stringify(line)}\n`);
          count += some.length;
        }
      return count;
    };
    expect(await ask(newest)).toBeGreaterThan(30_000);
    await expect(ask(older)).rejects.toThrow("A file changed while it was read");
  },
);
