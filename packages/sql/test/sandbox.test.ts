import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { type Store, createMemoryStore } from "@skein/core";
import { createTenantSql } from "@skein/sql/sandbox";
import { tableFromIPC } from "apache-arrow";
import { expect, onTestFinished, test } from "vitest";
import { folder, write } from "./sql.ts";
import { COMMAND_FOLDERS, FILTER_PIPE, findSandbox } from "../src/sandbox/bubblewrap.ts";
import { startSandboxed } from "../src/sandbox/sandboxed-process.ts";
import { hasBubblewrap } from "./bubblewrap.ts";

test.skipIf(!hasBubblewrap)("an Arrow stream keeps types, and values of types that Arrow lacks are text", async () => {
  const sql = createTenantSql({ store: createMemoryStore(), folder: folder() });
  onTestFinished(() => sql.close());
  const statement = `SELECT range::BIGINT AS n, if(range = 1, NULL, 'ä' || range) AS text, range % 2 = 0 AS even,
    range / 4 AS quarter, (range * -1.25)::DECIMAL(10, 2) AS price, sum(range) OVER () AS total,
    TIMESTAMP '2026-01-02 03:04:05.000006' AS at, DATE '2026-01-02' AS day, [range] AS list, {'a': NULL} AS struct,
    170141183460469231731687303715884105728::UHUGEINT AS huge, TIME '01:02:03' AS time, '\\xFF'::BLOB AS bytes,
    '{"a": 1}'::JSON AS json, (-range)::TINYINT AS small FROM range(3)`;
  const question = {
    tenant: "default",
    statement,
    format: "arrow",
    rows: 100,
    bytes: 100_000,
    timeMs: 30_000,
    history: false,
    prompts: true,
  } as const;
  const pieces: Uint8Array[] = [];
  for await (const part of sql.ask(question, new AbortController().signal)) {
    if (part.kind === "data") pieces.push(part.bytes);
    if (part.kind === "end") expect(part).toEqual({ kind: "end", rows: 3, truncated: false });
  }
  const table = tableFromIPC(Buffer.concat(pieces));
  const types = table.schema.fields.map(({ name, type }) => `${name} ${String(type)}`);
  expect(types).toEqual([
    "n Int64",
    "text Utf8",
    "even Bool",
    "quarter Float64",
    "price Decimal[10e+2]",
    "total Decimal[38e0]",
    "at Timestamp<MICROSECOND>",
    "day Date32<DAY>",
    "list Utf8",
    "struct Utf8",
    "huge Utf8",
    "time Utf8",
    "bytes Binary",
    "json Utf8",
    "small Int8",
  ]);
  const column = (name: string): unknown[] => [...(table.getChild(name) ?? [])];
  expect(column("n")).toEqual([0n, 1n, 2n]);
  expect(column("text")).toEqual(["ä0", null, "ä2"]);
  expect(column("even")).toEqual([true, false, true]);
  expect(column("quarter")).toEqual([0, 0.25, 0.5]);
  expect(column("small")).toEqual([0, -1, -2]);
  expect(column("list")).toEqual(["[0]", "[1]", "[2]"]);
  expect(column("struct")[0]).toBe('{"a":null}');
  expect(column("huge")[0]).toBe("170141183460469231731687303715884105728");
  expect(column("time")[0]).toBe("01:02:03");
  expect(column("bytes")[0]).toEqual(new Uint8Array([255]));
  expect(column("json")[0]).toBe('{"a": 1}');
  const buffer = (name: string): unknown => table.getChild(name)?.data[0]?.values as unknown;
  expect(buffer("price")).toEqual(
    new Uint32Array([
      0,
      0,
      0,
      0,
      ...[-125, -250].flatMap((cents) => [cents >>> 0, 0xffffffff, 0xffffffff, 0xffffffff]),
    ]),
  );
  expect((buffer("at") as BigInt64Array)[0]).toBe(BigInt(Date.parse("2026-01-02T03:04:05Z")) * 1000n + 6n);
  expect((buffer("day") as Int32Array)[0]).toBe(Date.parse("2026-01-02") / 86_400_000);
});

test.skipIf(!hasBubblewrap)(
  "an Arrow stream is sent in batches within its limits, and the last batch says how it ended",
  async () => {
    const sql = createTenantSql({ store: createMemoryStore(), folder: folder() });
    onTestFinished(() => sql.close());
    const asked = async (statement: string, limits: { readonly rows: number; readonly bytes: number }) => {
      const question = {
        tenant: "default",
        statement,
        format: "arrow",
        timeMs: 30_000,
        history: false,
        prompts: true,
        ...limits,
      } as const;
      const pieces: Uint8Array[] = [];
      for await (const part of sql.ask(question, new AbortController().signal))
        if (part.kind === "data") pieces.push(Buffer.from(part.bytes));
      const bytes = Buffer.concat(pieces);
      const table = tableFromIPC(bytes);
      const end = JSON.parse(table.batches.at(-1)?.metadata.get("end") ?? "null") as unknown;
      return { pieces: pieces.length, bytes: bytes.length, rows: table.numRows, end, column: table.getChildAt(0) };
    };
    const plenty = { rows: 1e6, bytes: 1e8 };
    const whole = await asked("SELECT range FROM range(10000)", plenty);
    expect(whole).toMatchObject({ rows: 10_000, end: { rows: 10_000, truncated: false } });
    expect([...(whole.column ?? [])]).toEqual(Array.from({ length: 10_000 }, (_, n) => BigInt(n)));
    expect(whole.pieces).toBeGreaterThan(2);
    expect(await asked("SELECT 1 AS n WHERE false", plenty)).toMatchObject({
      rows: 0,
      end: { rows: 0, truncated: false },
    });
    const few = await asked("SELECT range FROM range(10000)", { rows: 5000, bytes: 1e8 });
    expect(few).toMatchObject({ rows: 5000, end: { rows: 5000, truncated: true } });
    expect(await asked("SELECT range FROM range(5000)", { rows: 5000, bytes: 1e8 })).toMatchObject({
      end: { rows: 5000, truncated: false },
    });
    const small = await asked("SELECT repeat('x', 1000) AS x FROM range(10000)", { rows: 1e6, bytes: 500_000 });
    expect(small.end).toEqual({ rows: small.rows, truncated: true });
    expect(small.rows).toBeGreaterThan(100);
    // The last batch, which has no rows, does not count.
    expect(small.bytes).toBeLessThan(501_000);
  },
);

test.skipIf(!hasBubblewrap)(
  "a statement waits only for what it reads: not for transcripts, and not for the rows of its tenant",
  { timeout: 60_000 },
  async () => {
    // The store never answers, and the folder of the transcripts does not exist.
    const { promise: endOfTest, reject: end } = Promise.withResolvers<never>();
    const store: Store = new Proxy(createMemoryStore(), { get: () => async () => await endOfTest });
    const own = folder();
    const history = { roots: [join(own, "no-transcripts")], cacheFolder: join(own, "cache") };
    const sql = createTenantSql({ store, history, folder: join(own, "sql"), copyMs: 200 });
    onTestFinished(async () => {
      end(new Error("The test has ended."));
      await sql.close();
    });
    const limits = { tenant: "default", format: "jsonl", rows: 10, bytes: 1000, timeMs: 30_000 } as const;
    const asked = async (statement: string): Promise<string> => {
      const question = { ...limits, statement, history: true, prompts: true };
      let lines = "";
      for await (const part of sql.ask(question, new AbortController().signal))
        if (part.kind === "data") lines += Buffer.from(part.bytes).toString();
      return lines;
    };
    expect(await asked("SELECT 42 AS n")).toContain('{"n":42}');
    await expect(asked("FROM platform.sessions")).rejects.toThrow("Copying this tenant's rows");
    await expect(asked("FROM claude.messages")).rejects.toThrow("no-transcripts does not exist");
  },
);

test.skipIf(!hasBubblewrap)(
  "a sandboxed process that is stopped within 40 ms of its start leaves no process and no file behind",
  async () => {
    const place = folder();
    const found = findSandbox(COMMAND_FOLDERS);
    if ("problem" in found) throw new Error(found.problem);
    for (let ms = 0; ms < 40; ms += 2) {
      const options = { walls: { memoryBytes: 1e9, cpuSeconds: 10 }, folder: place, isTrial: false };
      const started = startSandboxed(found, options);
      await delay(ms);
      started.stop();
      await started.ended;
    }
    await expect.poll(() => processesIn(place)).toEqual([]);
    expect(readdirSync(place)).toEqual([]);
  },
);

/** Returns the ids of the processes that were started with a folder inside this one. */
function processesIn(place: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(place);
    } catch {
      return false;
    }
  });
}

test.skipIf(!hasBubblewrap)(
  "a statement may use the processors for its whole time limit, also if the waiting process was started for a shorter limit",
  async () => {
    const place = folder();
    const sql = createTenantSql({ folder: place });
    onTestFinished(() => sql.close());
    const question = {
      tenant: "default",
      format: "jsonl",
      rows: 1,
      bytes: 1000,
      history: false,
      prompts: true,
    } as const;
    const stop = new AbortController();
    const asked = async (statement: string, timeMs: number): Promise<void> => {
      for await (const _ of sql.ask({ ...question, statement, timeMs }, stop.signal));
    };
    const cpuLimits = (): readonly string[] => {
      const found = processesIn(place).map(
        (pid) => /Max cpu time +(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1] ?? "none",
      );
      return [...new Set(found)];
    };
    await asked("SELECT 42", 5000);
    await expect.poll(cpuLimits).toEqual(["60"]);
    const long = asked(
      "SELECT count(*) FROM range(1000000) AS a, range(1000000) AS b WHERE a.range * b.range = 7",
      90_000,
    );
    // Four processors for 90 s.
    await expect.poll(cpuLimits).toEqual(["360"]);
    stop.abort();
    await expect(long).rejects.toThrow("ended without an answer");
  },
);

/**
 * Logins of coding agents, settings with keys, and copies of edited files, at their usual paths next to the sessions.
 */
const SECRETS: Readonly<Record<string, readonly string[]>> = {
  ".claude": [".credentials.json", ".claude.json", "settings.json", "file-history/s1/0123@v1", "shell-snapshots/s.sh"],
  ".codex": ["auth.json", "config.toml"],
  ".local/share/opencode": ["auth.json", "opencode.db"],
  ".gemini": ["oauth_creds.json"],
  ".qwen": ["oauth_creds.json"],
  ".cursor": ["cli-config.json"],
  ".kimi": ["config.toml", "credentials/kimi.json"],
  ".factory": ["auth.json"],
  ".pi/agent": ["auth.json"],
};
const READABLE = [
  "projects/-work/s1.jsonl",
  "projects/-work/s1/subagents/agent-a1.meta.json",
  "plans/one.md",
  "todos/s1-agent-s1.json",
  "tasks/s1/1.json",
  "history.jsonl",
  "stats-cache.json",
];

test.skipIf(!hasBubblewrap)(
  "a statement over the files of coding agents finds no login: the sandbox has only the files that tables are made of",
  { timeout: 60_000 },
  async () => {
    const home = folder();
    const roots = Object.keys(SECRETS).map((name) => join(home, name));
    for (const [root, names] of Object.entries(SECRETS))
      for (const name of [...names, ...READABLE]) write(home, join(root, name), "a secret");
    const history = { roots, cacheFolder: folder() };
    const found = findSandbox(COMMAND_FOLDERS, { history });
    if ("problem" in found) throw new Error(found.problem);
    // This program replaces the sandbox's program and looks at every file, as if a statement had taken control of the
    // process.
    const given = found.args({ memoryBytes: 1e9, cpuSeconds: 10 }, folder(), { isTrial: true });
    const look = `const { readdirSync } = require("node:fs");
      console.log(JSON.stringify(readdirSync("/", { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory() && !entry.parentPath.startsWith("/skein"))
        .map((entry) => entry.parentPath + "/" + entry.name)));`;
    const args = [...given.slice(0, given.lastIndexOf("/skein/node")), "/skein/node", "-e", look];
    const pipe = found.filter ? "pipe" : "ignore";
    const child = spawn(found.command, args, { env: {}, stdio: ["ignore", "pipe", "inherit", "ignore", pipe] });
    (child.stdio[FILTER_PIPE] as Writable | null | undefined)?.on("error", () => {}).end(found.filter);
    const seen = JSON.parse(await text(child.stdout as NodeJS.ReadableStream)) as readonly string[];
    expect(seen.filter((path) => path.startsWith(home)).toSorted()).toEqual(
      roots.flatMap((root) => READABLE.map((name) => join(root, name))).toSorted(),
    );
    // All files outside of `home` are shared libraries of Node.
    expect(seen.filter((path) => !path.startsWith(home) && !/\.so[.\d]*$/.test(path))).toEqual([]);

    const sql = createTenantSql({ store: createMemoryStore(), history, folder: join(home, "sql") });
    onTestFinished(() => sql.close());
    const limits = { tenant: "default", format: "jsonl", rows: 10, bytes: 10_000, timeMs: 30_000 } as const;
    const asked = async (statement: string): Promise<string> => {
      let lines = "";
      const question = { ...limits, statement, history: true, prompts: true };
      for await (const part of sql.ask(question, new AbortController().signal))
        if (part.kind === "data") lines += Buffer.from(part.bytes).toString();
      return lines;
    };
    const counted = "(SELECT count(*) FROM claude.messages) AS n";
    for (const path of [".credentials.json", "projects/../.credentials.json", "projects/-work/../../.credentials.json"])
      expect(
        await asked(`SELECT content, ${counted} FROM read_text('${home}/.claude/${path}')`).catch(String),
        path,
      ).not.toContain("a secret");
    // The sandbox either finds nothing for a pattern or rejects the pattern.
    const matches = await asked(`SELECT file, ${counted} FROM glob('${home}/.claude/.c*')`).catch(String);
    expect(matches).toMatch(/^$|file system operations are disabled/);
    expect(await asked("SELECT content FROM claude_plans LIMIT 1")).toContain("a secret");
  },
);
