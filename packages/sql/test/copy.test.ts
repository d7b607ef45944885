import {
  appendFileSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { discover } from "@skein/history";
import { writeCorpus } from "@skein/history/testing";
import { type Sql, type Value, buildCopy, createSql } from "@skein/sql";
import { expect, onTestFinished, test } from "vitest";
import { folder, write } from "./sql.ts";

const SESSION = "be74c085-8d87-49a7-9100-7f0e83f29a10";

/** Tables that come from transcripts. */
const TABLES = [
  "claude_conversations",
  "claude_stats",
  "claude.lines",
  "claude.messages",
  "claude.responses",
  "claude.tool_calls",
  "claude.agents",
  "claude.file_versions",
  "claude.branches",
  "claude.damage",
];

async function open(root: string, cacheFolder: string | null): Promise<Sql> {
  const sql = await createSql({ roots: [root], threads: 2, cacheFolder });
  onTestFinished(() => sql.close());
  return sql;
}

/** Makes files older, because a build leaves out files that were written in the last second. */
function age(root: string): void {
  const old = new Date(Date.now() - 60_000);
  for (const { path, mtimeMs } of discover({ dataPath: root }).files)
    if (mtimeMs > Number(old)) utimesSync(path, old, old);
}

async function build(root: string, cacheFolder: string): ReturnType<typeof buildCopy> {
  age(root);
  return await buildCopy({ roots: [root], cacheFolder });
}

async function rowsOf(sql: Sql, table: string): Promise<readonly (readonly Value[])[]> {
  const [result] = await sql.run(`SELECT * FROM ${table} ORDER BY ALL`);
  return result?.rows ?? [];
}

async function expectSameRows(root: string, cacheFolder: string, when: string): Promise<Sql> {
  const scan = await open(root, null);
  const copy = await open(root, cacheFolder);
  for (const table of TABLES) {
    const rows = await rowsOf(scan, table);
    expect(rows.length, `${table} ${when}`).toBeGreaterThan(0);
    expect(await rowsOf(copy, table), `${table} ${when}`).toEqual(rows);
  }
  return copy;
}

/** Writes data that the generated corpus lacks: damage, copies of calls, branches, searches and file versions. */
function writeOddities(root: string): string {
  const at = (second: number): string => `2026-10-01T10:00:${`${second}`.padStart(2, "0")}.000Z`;
  const user = (uuid: string, parentUuid: string | null, content: unknown, more: object = {}): object => ({
    type: "user",
    uuid,
    parentUuid,
    timestamp: at(Number(uuid.slice(1))),
    message: { role: "user", content },
    ...more,
  });
  const usage = { input_tokens: 10, output_tokens: 5 };
  const call = {
    type: "assistant",
    uuid: "a1",
    parentUuid: "u1",
    timestamp: at(2),
    requestId: "r1",
    message: {
      id: "m1",
      role: "assistant",
      model: "claude-opus-4-5",
      usage,
      content: [{ type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } }],
    },
  };
  const backup = { backupFileName: "a1@v2", version: 2, backupTime: at(1) };
  const lines = [
    user("u1", null, "first"),
    call,
    call,
    user("u3", "a1", [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "[no list" }] }]),
    user("u4", "a1", [{ type: "tool_result", tool_use_id: "t2", content: "[1, 2]" }], {
      toolUseResult: { searchCount: 3 },
    }),
    user("u5", "a1", "one way"),
    user("u6", "a1", [
      { type: "text", text: "<system-reminder>x</system-reminder>" },
      { type: "text", text: "another way" },
    ]),
    {
      type: "file-history-snapshot",
      messageId: "u1",
      snapshot: { messageId: "u1", trackedFileBackups: { "a.b/~c": backup } },
    },
    { type: "summary", summary: "In short" },
    { no: "type" },
  ].map((line) => JSON.stringify(line));
  const damaged = [
    "",
    "this is no JSON",
    String.raw`{"type":"half","uuid":"half","content":"\ud83d"}`,
    `{"type":"left"}{"type":"right","content":[{"type":"text","text":"glued"}]}`,
    "[1]",
    '{"type":{"odd":true},"uuid":7,"timestamp":[],"message":"text"}',
    '{"type":"user","uuid":"x9","message":{"content":{"no":"list"}}}',
    '{"type":"torn","uu',
  ];
  write(root, "projects/p/empty.jsonl", "");
  return write(root, `projects/p/${SESSION}.jsonl`, [...lines, ...damaged].join("\n"));
}

test(
  "the copy and the files give the same rows after files grow, shrink, are deleted and are rewritten",
  { timeout: 120_000 },
  async () => {
    const root = folder();
    const cache = folder();
    writeCorpus({ folder: root, files: 12, bytes: 600_000 });
    const odd = writeOddities(root);
    // This file is a fork of the session with the same calls.
    writeFileSync(join(root, "projects/p/11111111-8d87-49a7-9100-7f0e83f29a10.jsonl"), readFileSync(odd));
    const [first, second, third, fourth] = discover({ dataPath: root }).files.filter(
      ({ path }) => !path.includes("/p/"),
    );
    expect(await build(root, cache)).toMatchObject({ outcome: "built", added: 15 });
    const copy = await expectSameRows(root, cache, "when all files are in the copy");
    expect(copy.scannedBytes()).toBe(0);
    expect(await build(root, cache)).toMatchObject({ outcome: "current" });

    appendFileSync(first?.path ?? "", '{"type":"user","uuid":"new","message":{"content":"more"}}\n{"type":"torn');
    truncateSync(second?.path ?? "", 5000);
    rmSync(third?.path ?? "");
    // The fourth file is replaced by another file with the same size and time.
    const { size, mtimeMs } = statSync(fourth?.path ?? "");
    const line = '{"type":"user","uuid":"rewritten"}\n';
    // The old file is kept, so that the new file gets another inode.
    renameSync(fourth?.path ?? "", join(root, "old.jsonl"));
    write(root, "projects/p/between.jsonl", line);
    writeFileSync(fourth?.path ?? "", line.padStart(size, " "));
    utimesSync(fourth?.path ?? "", mtimeMs / 1000, mtimeMs / 1000);
    const mixed = await expectSameRows(root, cache, "when files have changed");
    expect(mixed.scannedBytes()).toBeGreaterThan(0);

    expect(await build(root, cache)).toMatchObject({ outcome: "built", added: 4, removed: 4 });
    const after = await expectSameRows(root, cache, "when the copy is up to date again");
    expect(after.scannedBytes()).toBe(0);
    // A connection that was opened before the build uses the new copy at its next query.
    await mixed.run("SELECT 1");
    expect(mixed.scannedBytes()).toBe(0);

    // A repeated query sees a line that was written a moment ago.
    const rows = async (): Promise<number> =>
      Number((await rowsOf(after, "(SELECT count(line) FROM claude_conversations)"))[0]?.[0]);
    const before = await rows();
    expect(await rows()).toBe(before);
    appendFileSync(odd, '\n{"type":"user","uuid":"last"}\n');
    expect(await rows()).toBe(before + 1);
  },
);

test(
  "a copy is readable only by its owner, and a broken copy or a copy of other directories is not used",
  { timeout: 120_000 },
  async () => {
    const root = folder();
    const other = folder();
    const cache = folder();
    write(root, `projects/p/${SESSION}.jsonl`, [{ type: "user", uuid: "u1" }]);
    write(other, `projects/p/${SESSION}.jsonl`, [{ type: "user", uuid: "other" }]);
    const built = await build(root, cache);
    const file = built.outcome === "built" ? built.file : "";
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(cache, "sql")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(cache, "sql")).filter((name) => name.includes(".next"))).toEqual([]);
    const question = "SELECT message_uuid FROM claude_conversations";
    const elsewhere = await open(other, cache);
    expect((await elsewhere.run(question))[0]?.rows).toEqual([["other"]]);
    writeFileSync(file, "no database");
    const sql = await open(root, cache);
    expect((await sql.run(question))[0]?.rows).toEqual([["u1"]]);
    expect(sql.scannedBytes()).toBeGreaterThan(0);
    expect(await build(root, cache)).toMatchObject({ outcome: "built", added: 1 });
    await sql.run(question);
    expect(sql.scannedBytes()).toBe(0);
  },
);

test(
  "while several builds of the copy run at the same time, at least one of them succeeds and a reader sees complete rows",
  { timeout: 120_000 },
  async () => {
    const root = folder();
    const cache = folder();
    writeCorpus({ folder: root, files: 8, bytes: 400_000 });
    await build(root, cache);
    const sql = await open(root, cache);
    const [expected] = await sql.run("SELECT count(*), sum(output_tokens) FROM claude.responses");
    const outcomes = Promise.all([1, 2, 3].map(() => buildCopy({ roots: [root], cacheFolder: cache, afresh: true })));
    const done = Symbol("done");
    const finished = outcomes.then(() => done);
    for (let seen: unknown; seen !== done;) {
      const [found] = await sql.run("SELECT count(*), sum(output_tokens) FROM claude.responses");
      expect(found?.rows).toEqual(expected?.rows);
      seen = await Promise.race([finished, Promise.resolve()]);
    }
    expect((await outcomes).map(({ outcome }) => outcome).filter((outcome) => outcome !== "busy")).toContain("built");
  },
);

test(
  "lines in the copy have the correct numbers, even in a file that is larger than the reader's buffers",
  { timeout: 120_000 },
  async () => {
    const root = folder();
    const cache = folder();
    const text = "x".repeat(20_000);
    const linesOf = (count: number): object[] =>
      Array.from({ length: count }, (_, at) => ({ type: "user", uuid: `${at + 1}`, message: { content: text } }));
    // The file is larger than three of the reader's buffers.
    write(root, `projects/p/${SESSION}.jsonl`, linesOf(6000));
    for (const name of ["a", "b", "c"]) write(root, `projects/p/${name}.jsonl`, linesOf(200));
    await build(root, cache);
    const sql = await open(root, cache);
    const [numbers] = await sql.run("SELECT count(*), count(*) FILTER (line = uuid::BIGINT) FROM claude.messages");
    expect(sql.scannedBytes()).toBe(0);
    expect(numbers?.rows.map((row) => row.map(Number))).toEqual([[6600, 6600]]);
  },
);
