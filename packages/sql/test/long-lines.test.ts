import { utimesSync } from "node:fs";
import { buildCopy, createSql } from "@skein/sql";
import { expect, onTestFinished, test } from "vitest";
import { ask, folder, write } from "./sql.ts";

const SESSION = "be74c085-8d87-49a7-9100-7f0e83f29a10";
const MEGABYTE = 1_000_000;
/** The length of a cut text in bytes. */
const CUT = 2 ** 20;

const SIZES = [MEGABYTE, MEGABYTE, 4 * MEGABYTE, 17 * MEGABYTE, 1000];
/** The numbers of the lines whose text has 17 MB. Each size has three lines. */
const LONG = [10, 11, 12];

/** Returns a prompt, a tool call and its result for each size. Their texts have this size in bytes. */
function lines(): readonly object[] {
  return SIZES.flatMap((size, at) => {
    const text = "ten-bytes,".repeat(size / 10);
    const line = { timestamp: "2026-10-01T10:00:00.000Z", cwd: "/work" };
    const usage = { input_tokens: 1, output_tokens: 2 };
    const call = { type: "tool_use", id: `t${at}`, name: "Write", input: { text } };
    const result = { type: "tool_result", tool_use_id: `t${at}`, content: text };
    const answer = { id: `m${at}`, role: "assistant", model: "claude-opus-4-5", usage, content: [call] };
    return [
      { ...line, type: "user", uuid: `u${at}`, message: { role: "user", content: text } },
      { ...line, type: "assistant", uuid: `a${at}`, requestId: `r${at}`, message: answer },
      { ...line, type: "user", uuid: `r${at}`, message: { role: "user", content: [result] } },
    ];
  });
}

test("a long line that is damaged has a row with a shortened text, and the table of damage lists the line", async () => {
  const root = folder();
  const text = `${"ten-bytes,".repeat(MEGABYTE / 10)}\\ud83d`;
  write(root, `projects/p/${SESSION}.jsonl`, `{"type":"user","uuid":"u1","message":{"content":"${text}"}}\n`);
  const sql = await createSql({ roots: [root], threads: 2 });
  onTestFinished(() => sql.close());
  expect(await ask(sql, "SELECT message_uuid, strlen(content) AS n FROM claude_conversations")).toEqual([
    { message_uuid: "u1", n: 2 ** 14 },
  ]);
  expect(await ask(sql, "SELECT line, kind, contains(message, 'cut') AS told FROM claude.damage")).toEqual([
    { line: 1, kind: "half-surrogate", told: true },
  ]);
});

test("queries succeed and see all rows with lines of 1, 4 and 17 MB", { timeout: 240_000 }, async () => {
  const root = folder();
  const cache = folder();
  const path = write(root, `projects/p/${SESSION}.jsonl`, lines());
  const old = new Date(Date.now() - 60_000);
  utimesSync(path, old, old);
  const kept = SIZES.map((size) => (size > 16 * MEGABYTE ? CUT : size));
  for (const cacheFolder of [null, cache]) {
    if (cacheFolder !== null) expect(await buildCopy({ roots: [root], cacheFolder })).toMatchObject({ added: 1 });
    const sql = await createSql({ roots: [root], threads: 2, cacheFolder });
    onTestFinished(() => sql.close());
    expect(
      await ask(
        sql,
        "SELECT line, strlen(content) AS n FROM claude_conversations WHERE message_type = 'user' ORDER BY line",
      ),
    ).toEqual(
      kept.flatMap((n, at) => [
        { line: at * 3 + 1, n },
        { line: at * 3 + 3, n },
      ]),
    );
    expect(
      await ask(
        sql,
        "SELECT strlen(text) AS text, strlen(human_prompt) AS prompt FROM claude.messages WHERE text IS NOT NULL ORDER BY line",
      ),
    ).toEqual(kept.map((n) => ({ text: n, prompt: n })));
    expect(
      await ask(
        sql,
        "SELECT strlen(input->>'text') AS input, strlen(result) AS result FROM claude.tool_calls ORDER BY line",
      ),
    ).toEqual(kept.map((n) => ({ input: n, result: n })));
    expect(await ask(sql, "SELECT sum(output_tokens)::INTEGER AS n FROM claude.responses")).toEqual([
      { n: 2 * SIZES.length },
    ]);
    expect(await ask(sql, "SELECT count(*)::INTEGER AS n FROM claude.lines")).toEqual([{ n: 3 * SIZES.length }]);
    expect(await ask(sql, "SELECT line, kind FROM claude.damage ORDER BY line")).toEqual(
      LONG.map((line) => ({ line, kind: "too-long" })),
    );
    await sql.run("CREATE TEMP TABLE everything AS SELECT * FROM claude_conversations");
    expect(sql.scannedBytes() > 0).toBe(cacheFolder === null);
  }
});
