import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { agentData } from "../../../history/test/sources/agent-data.ts";
import { rowsOf } from "../../../sql/test/sql.ts";
import { failureText } from "../../src/commands/sql/write-answer.ts";
import { type Ended, bin, dataFolder, environmentOf, lines, skein, start } from "../skein.ts";

const SESSION = "be74c085-8d87-49a7-9100-7f0e83f29a10";

/** Creates a home folder with one session. The session has this prompt. */
function home(prompt: string): string {
  const folder = dataFolder();
  const project = join(folder, ".claude", "projects", "p");
  mkdirSync(project, { recursive: true });
  const line = {
    type: "user",
    uuid: "u1",
    timestamp: "2026-10-01T10:00:00Z",
    message: { role: "user", content: prompt },
  };
  writeFileSync(join(project, `${SESSION}.jsonl`), `${JSON.stringify(line)}\n`);
  return folder;
}

/** Removes the progress line, which appears only on a slow machine. */
const said = (err: string): string => err.replace(/^(Asking|Copying) …\n/, "");

/** Runs independent commands, and returns their results in the same order. `skein` runs only one command at a time. */
async function skeins(folder: string, calls: readonly (readonly string[])[]): Promise<readonly Ended[]> {
  const all: Ended[] = [];
  const left = [...calls.entries()];
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) all[next[0]] = await skein(folder, "sql", ...next[1]);
  };
  await Promise.all([work(), work(), work()]);
  return all;
}

const PROMPTS = "SELECT content, line AS n FROM claude_conversations";

describe("skein sql", () => {
  const FORMATS = [
    ["--json", '[{"content":"a|b","n":1}]\n'],
    ["--format=jsonl", '{"content":"a|b","n":1}\n'],
    ["--format=csv", "content,n\r\na|b,1\r\n"],
    ["--format=markdown", "| content | n |\n| --- | ---: |\n| a\\|b | 1 |\n"],
    ["--format=table", "content  n\na|b      1\n"],
    ["--format=box", "┌─────────┬───┐\n│ content │ n │\n├─────────┼───┤\n│ a|b     │ 1 │\n└─────────┴───┘\n"],
  ] as const;

  test(`writes an answer as ${FORMATS.map(([option]) => option).join(", ")}`, { timeout: 120_000 }, async () => {
    const answers = await skeins(
      home("a|b"),
      FORMATS.map(([option]) => [PROMPTS, option]),
    );
    for (const [at, [option, expected]] of FORMATS.entries())
      expect(answers[at], option).toMatchObject({ code: 0, out: expected });
  });

  test("a cell that a spreadsheet would execute is escaped, and control characters are shown", async () => {
    const others = "SELECT '＝1' AS wide, chr(10) || '=1' AS below";
    const numbers = "SELECT -9007199254740993 AS large, '-1+1' AS sum, -1.5 AS small, '=1' AS \"=name\"";
    const { out } = await skein(home("=1+1\u001B[2J"), "sql", [PROMPTS, others, numbers].join(";"), "--format", "csv");
    expect(out).toBe(
      [
        "content,n\r\n'=1+1\\x1b[2J,1\r\n",
        "wide,below\r\n'＝1,\"'\n=1\"\r\n",
        "large,sum,small,'=name\r\n-9007199254740993,'-1+1,-1.5,'=1\r\n",
      ].join(""),
    );
  });

  test(
    "an invalid statement gives exit code 1 and the place of the error; a wrong call gives 2, a missing directory 3",
    { timeout: 120_000 },
    async () => {
      const folder = home("x");
      const [wrong, misspelt, ...others] = await skeins(folder, [
        ["SELECT contnt FROM claude_conversations"],
        ["SELEC 1"],
        ["SELECT", "1"],
        ["SELECT 1", "--json", "--format", "csv"],
        ["SELECT 1", "--root", join(folder, "missing")],
      ]);
      expect(wrong).toMatchObject({ code: 1, out: "" });
      expect(wrong?.err).toMatch(/LINE 1: SELECT contnt[^]*\^/);
      expect(said(misspelt?.err ?? "")).toMatch(/^Parser Error: [^]*LINE 1: SELEC 1\n +\^/);
      expect(others.map(({ code }) => code)).toEqual([2, 2, 3]);
    },
  );

  test(
    "the results of a file's statements have the comments as titles; examples have names, and the schema has explanations",
    { timeout: 120_000 },
    async () => {
      const folder = home("about a test");
      const file = join(folder, "q.sql");
      writeFileSync(file, "-- The first\n-- question.\nSELECT 1 AS a;\n\nSELECT 2 AS b; -- Not a title.");
      const [both, titled, examples, asked, unknown, schema, one, misspelt] = await skeins(folder, [
        ["-f", file, "--format", "jsonl"],
        ["-f", file],
        ["examples"],
        ["examples", "asked-about"],
        ["examples", "nothing"],
        ["--schema"],
        ["--schema", "claude.damage"],
        ["--schema", "claude.damag"],
      ]);
      expect(both).toMatchObject({ code: 0, out: '{"a":1}\n{"b":2}\n' });
      expect(titled?.out).toBe("The first\nquestion.\na\n1\n\nb\n2\n");
      expect(examples?.err).toContain("Run one with its name: skein sql examples ");
      expect(examples?.out).toContain("failing-tools");
      expect(asked?.out).toContain("about a test");
      expect(unknown).toMatchObject({ code: 3 });
      expect(schema?.out).toMatch(/token_usage +JSON +The usage in the line\. Each line/);
      // The columns of the tables of all agents have explanations.
      expect(schema?.out.match(/^ {2}source +VARCHAR +The coding agent: /gm)?.length).toBe(8);
      expect(one?.out).toMatch(/^claude\.damage\n[^\n]+\n {2}file [^]+\n {2}message [^\n]+\n\n$/);
      expect(misspelt).toMatchObject({ code: 3, out: "" });
    },
  );

  test("a statement may begin with a comment, and too many arguments are rejected", { timeout: 120_000 }, async () => {
    const folder = home("x");
    const commented = "-- What is it?\nSELECT 42 AS answer";
    const [answer, ...refused] = await skeins(folder, [
      [commented, "--format", "jsonl"],
      ["export", "one", "two"],
      ["init", "one"],
      ["init", "--root", "one", "--root", "two"],
      ["-f", folder],
      [""],
      ["SELECT 1", "--format", "parquet", "--output", join(folder, "missing", "x.parquet")],
      ["SELECT 1", "--format", "parquet"],
      ["--nothing"],
    ]);
    expect(answer).toMatchObject({ code: 0, out: '{"answer":42}\n' });
    expect(refused).toHaveLength(8);
    for (const { code, err } of refused) expect([code, said(err).split("\n").length], err).toEqual([2, 2]);
  });

  test(
    "only statements that read print rows, PIVOT works, and EXPLAIN draws a plan",
    { timeout: 120_000 },
    async () => {
      const folder = home("x");
      const steps =
        "CREATE TEMP TABLE t AS SELECT 1 AS n; SET VARIABLE x = 5; INSERT INTO t VALUES (2); FROM t; DROP TABLE t";
      const pivot = "PIVOT (SELECT message_type, line FROM claude_conversations) ON message_type USING count(*)";
      const [json, table, pivoted, plan] = await skeins(folder, [
        [steps, "--json"],
        [steps],
        [pivot, "--format", "jsonl"],
        ["EXPLAIN SELECT 1"],
      ]);
      expect(json).toMatchObject({ code: 0, out: '[[]\n,\n[]\n,\n[]\n,\n[{"n":1},\n {"n":2}]\n,\n[]\n]\n' });
      expect(table).toMatchObject({ code: 0, out: "n\n1\n2\n" });
      expect(pivoted).toMatchObject({ code: 0, out: '{"line":1,"user":1}\n' });
      expect(plan?.out).toMatch(/^┌─+┐\n│ +PROJECTION +│\n[^]+┘\n$/);
    },
  );

  test("a query creates no store", { timeout: 120_000 }, async () => {
    const folder = home("x");
    const ask = (urls: readonly string[]): Promise<readonly Ended[]> =>
      skeins(
        folder,
        urls.map((url) => ["SELECT * FROM platform.sessions", "--store", url]),
      );
    const missing = await ask([`sqlite:${join(folder, "new", "x.db")}`, `file:${join(folder, "logs")}`]);
    expect(missing.map(({ code }) => code)).toEqual([3, 3]);
    for (const { err } of missing) expect(err).toContain("There is no store at ");
    for (const place of ["new", "logs"]) expect([place, existsSync(join(folder, place))]).toEqual([place, false]);
    // A file of another program is not turned into a store.
    const file = join(folder, "foreign.db");
    const foreign = new DatabaseSync(file);
    foreign.exec("CREATE TABLE mine (n)");
    foreign.close();
    const foreigners = await ask([`sqlite:${file}`, `file:${join(folder, ".claude")}`]);
    expect(foreigners.map(({ code }) => code)).toEqual([3, 3]);
    expect(readdirSync(join(folder, ".claude"))).toEqual(["projects"]);
    const again = new DatabaseSync(file, { readOnly: true });
    expect(again.prepare("SELECT name FROM sqlite_master").all()).toEqual([{ name: "mine" }]);
    again.close();
  });

  test("a signal stops the statement, and no temporary file remains", { timeout: 120_000 }, async () => {
    const folder = home("x");
    const temporary = join(folder, "tmp");
    mkdirSync(temporary);
    const statement = "SELECT count(*) FROM range(1000000000) a, range(1000000) b";
    const { child, ended, says } = start(folder, ["sql", statement], { TMPDIR: temporary });
    await says("Asking");
    const left = (): readonly string[] => readdirSync(temporary).filter((name) => name.startsWith("skein-sql-"));
    expect(left()).toHaveLength(1);
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 130, out: "" });
    expect(left()).toEqual([]);
  });

  test.skipIf(!existsSync("/dev/full"))(
    "a full disk is reported with an error message, and no temporary file remains",
    async () => {
      const temporary = dataFolder();
      const child = spawn("sh", ["-c", '"$0" "$1" sql "SELECT 1" > /dev/full', process.execPath, bin], {
        env: { ...environmentOf(home("x")), TMPDIR: temporary },
        stdio: ["ignore", "inherit", "pipe"],
      });
      expect(said(await text(child.stderr))).toMatch(/^The answer could not be written: ENOSPC[^\n]+\n$/);
      expect(readdirSync(temporary)).toEqual([]);
    },
  );

  test("every table is exported as Parquet, with the sessions of all agents", { timeout: 120_000 }, async () => {
    const folder = home("x");
    cpSync(agentData("codex").folder, join(folder, ".codex"), { recursive: true });
    const { code, out } = await skein(folder, "sql", "export", join(folder, "out"));
    expect(code).toBe(0);
    const tables = JSON.parse((await skein(folder, "sql", "--schema", "--json")).out) as { readonly name: string }[];
    expect(readdirSync(join(folder, "out")).toSorted()).toEqual(tables.map(({ name }) => `${name}.parquet`).toSorted());
    expect(out).toContain("claude.responses.parquet");
    const sources = `SELECT source, count(*) AS n FROM '${join(folder, "out", "history.sessions.parquet")}' GROUP BY 1 ORDER BY 1`;
    expect(JSON.parse((await skein(folder, "sql", sources, "--json")).out)).toEqual([
      { source: "claude-code", n: 1 },
      { source: "codex", n: 3 },
    ]);
    expect(await skein(folder, "sql", "export", join(folder, "out"))).toMatchObject({ code: 4 });
  });

  test("without data of any coding agent, the exported tables exist and are empty", { timeout: 120_000 }, async () => {
    const folder = dataFolder();
    const file = join(folder, "out.duckdb");
    const { code, err } = await skein(folder, "sql", "export", file);
    expect(code, err).toBe(0);
    const tables = JSON.parse((await skein(folder, "sql", "--schema", "--json")).out) as { readonly name: string }[];
    const names = tables.map(({ name }) => (name.includes(".") ? name : `main.${name}`)).toSorted();
    expect(
      await rowsOf(file, "SELECT table_schema || '.' || table_name AS name FROM information_schema.tables ORDER BY 1"),
    ).toEqual(names.map((name) => ({ name })));
    const counts = names.map((name) => `SELECT '${name}' AS name FROM ${name} HAVING count(*) > 0`);
    expect(await rowsOf(file, counts.join(" UNION ALL "))).toEqual([]);
  });
});

describe("skein sql cache", () => {
  const age = (folder: string): void => {
    const old = new Date(Date.now() - 60_000);
    utimesSync(join(folder, ".claude", "projects", "p", `${SESSION}.jsonl`), old, old);
  };

  test(
    "`skein sql cache` prints where the copy is; `cache build` makes the copy, and `cache clear` removes it",
    { timeout: 120_000 },
    async () => {
      const folder = home("kept");
      age(folder);
      const [none, unknown] = await skeins(folder, [["cache"], ["cache", "nothing"]]);
      expect(none?.out).toContain("There is no copy yet");
      expect(unknown).toMatchObject({ code: 2 });
      const built = await Promise.all([1, 2, 3].map(() => skein(folder, "sql", "cache", "build")));
      expect(built.map(({ code }) => code)).toEqual([0, 0, 0]);
      expect(built.map(({ out }) => out).join("")).toContain("1 files added, 0 removed");
      const [file = ""] = (await skein(folder, "sql", "cache")).out.split("\n");
      expect(existsSync(file)).toBe(true);
      expect(file.startsWith(join(folder, ".cache", "skein", "sql"))).toBe(true);
      const [again, copied, read] = await skeins(folder, [
        ["cache", "build"],
        [PROMPTS, "--format", "jsonl"],
        [PROMPTS, "--format", "jsonl", "--no-cache"],
      ]);
      expect(again?.out).toBe("The copy is up to date.\n");
      for (const answer of [copied, read]) expect(lines(answer?.out ?? "")).toEqual([{ content: "kept", n: 1 }]);
      expect((await skein(folder, "sql", "cache", "clear")).out).toContain(file);
      expect(existsSync(file)).toBe(false);
      // A folder in place of the lock file is reported, and is not mistaken for another build.
      mkdirSync(file.replace(/\.duckdb$/, ".lock"));
      const blocked = await skein(folder, "sql", "cache", "build");
      expect(blocked.code, blocked.err).not.toBe(0);
      expect(said(blocked.err)).toMatch(/^IO Error: [^\n]+\.lock[^\n]+\n$/);
    },
  );

  test(
    "after a statement over large files, a copy is made in the background, and is not made again for unchanged files",
    { timeout: 180_000 },
    async () => {
      const folder = home("small");
      const file = join(folder, ".claude", "projects", "p", `${SESSION}.jsonl`);
      const line = { type: "user", uuid: "u1", message: { role: "user", content: "x".repeat(1_000_000) } };
      writeFileSync(file, `${JSON.stringify(line)}\n`.repeat(35));
      age(folder);
      const question = "SELECT count(*) AS n FROM claude_conversations";
      expect(lines((await skein(folder, "sql", question, "--format", "jsonl", "--no-cache")).out)).toEqual([{ n: 35 }]);
      expect(existsSync(join(folder, ".cache"))).toBe(false);
      expect(lines((await skein(folder, "sql", question, "--format", "jsonl")).out)).toEqual([{ n: 35 }]);
      const copies = join(folder, ".cache", "skein", "sql");
      const isMade = (): boolean =>
        existsSync(copies) && readdirSync(copies).some((name) => /^[^.]+\.duckdb$/.test(name));
      await expect.poll(isMade, { timeout: 120_000 }).toBe(true);
      // The background build holds its lock until it ends.
      const build = async (): Promise<string> => (await skein(folder, "sql", "cache", "build")).out;
      await expect.poll(build, { interval: 500 }).toBe("The copy is up to date.\n");
      const status = await skein(folder, "sql", "cache");
      expect(status.out).toContain(" MB, of ");
      const [copy = ""] = status.out.split("\n");
      const made = statSync(copy).mtimeMs;
      expect(lines((await skein(folder, "sql", question, "--format", "jsonl")).out)).toEqual([{ n: 35 }]);
      // The files have not changed since the copy, so the command does not make a new copy.
      expect((await skein(folder, "sql", "cache", "build")).out).toBe("The copy is up to date.\n");
      expect(statSync(copy).mtimeMs).toBe(made);
    },
  );
});

test("a damaged copy gives an error that says how to remove it", () => {
  const corrupt = new Error("IO Error: Corrupt database file: computed checksum 1 does not match 2");
  expect(failureText(corrupt)).toBe(
    `${corrupt.message}\nIf the damaged file is Skein's cached copy of the transcripts, remove the copy with "skein sql cache clear".`,
  );
});

test.each([
  ["nope", "pg_enum", ""],
  ["claude.sesions", "sessions", '\nDid you mean "sessions"?'],
])("the error for the unknown table %s names the list of tables, and no table of DuckDB", (table, meant, shown) => {
  const rest = `\n\nLINE 1: FROM ${table}`;
  const said = `Catalog Error: Table with name ${table} does not exist!`;
  expect(failureText(new Error(`${said}\nDid you mean "${meant}"?${rest}`))).toBe(
    `${said}${shown}${rest}\n"skein sql --schema" lists every table.`,
  );
});

test("cells are cut by the display width of their letters", { timeout: 120_000 }, async () => {
  const { out } = await skein(home("x"), "sql", "SELECT repeat('漢', 100) AS x, 1 AS n");
  expect(out.split("\n")[1]).toBe(`${"漢".repeat(48)}…  1`);
});

test(
  "narrow columns are shown whole, wide ones share the remaining width, and an id is never cut",
  { timeout: 120_000 },
  async () => {
    const folder = home("x");
    const id = "0197b1c2-0000-7000-8000-000000000001";
    const wide = (name: string): string => `repeat('${name}', 200) AS ${name}`;
    const [table, box] = await skeins(folder, [
      [`SELECT 1 AS n, '${id}' AS id, ${wide("a")}, ${wide("b")}, ${wide("c")}`],
      [`SELECT 1 AS n, ${wide("a")}`, "--format", "box"],
    ]);
    expect(table?.out.split("\n")[1]).toBe(
      `1  ${id}  ${["a", "b", "c"].map((name) => `${name.repeat(35)}…`).join("  ")}`,
    );
    expect(
      box?.out
        .split("\n")
        .slice(0, -1)
        .map((line) => line.length),
    ).toEqual([100, 100, 100, 100, 100]);
  },
);

test("a chart is drawn only for rows with a name and a number", { timeout: 120_000 }, async () => {
  const folder = home("x");
  const odd = "VALUES ('half', 0.5), ('none', NULL), ('much', 'inf'::DOUBLE), ('less', -0.25)";
  const [chart, nothing, odds] = await skeins(folder, [
    ["SELECT 'a' AS name, 1 AS n UNION ALL SELECT 'bb', 4 ORDER BY 1", "--format", "plot"],
    ["SELECT 'a' AS name", "--format", "plot"],
    [`FROM (${odd}) t(name, n)`, "--format", "plot"],
  ]);
  expect(chart?.out).toMatch(/^n\na {3}1 {2}█+▎?\nbb {2}4 {2}█+\n$/);
  expect(nothing).toMatchObject({ code: 2 });
  expect(odds?.out).toMatch(/^n\nhalf +0\.5 {2}█+\nnone\nmuch {2}Infinity\nless +-0\.25 {2}░+\n$/);
});

test(
  "an answer is written as Parquet, and replaces an existing file only with --force",
  { timeout: 120_000 },
  async () => {
    const folder = home("x");
    const file = join(folder, "it's.parquet");
    const parquet = ["--format", "parquet", "--output", file];
    expect(await skein(folder, "sql", `${PROMPTS}; -- done`, ...parquet)).toMatchObject({ code: 0 });
    const quoted = file.replaceAll("'", "''");
    const [read, over, forced] = await skeins(folder, [
      [`FROM '${quoted}'`, "--format", "jsonl"],
      [PROMPTS, ...parquet],
      [PROMPTS, ...parquet, "--force"],
    ]);
    expect(lines(read?.out ?? "")).toEqual([{ content: "x", n: 1 }]);
    expect(over).toMatchObject({ code: 4, err: expect.stringMatching(/exists already. --force replaces it/) });
    expect(forced).toMatchObject({ code: 0 });
  },
);

test(
  "--output writes an answer to a private file; a statement that fails writes no file",
  { timeout: 120_000 },
  async () => {
    const folder = home("x");
    const file = join(folder, "answer.csv");
    const failed = join(folder, "failed.csv");
    const written = await skein(folder, "sql", PROMPTS, "--format", "csv", "--output", file);
    const [over, wrong] = await skeins(folder, [
      [PROMPTS, "--output", file],
      ["SELECT nothing", "--output", failed],
    ]);
    expect(written).toMatchObject({ code: 0, out: "" });
    expect(readFileSync(file, "utf8")).toBe("content,n\r\nx,1\r\n");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(over).toMatchObject({ code: 4 });
    expect(wrong).toMatchObject({ code: 1 });
    expect(existsSync(failed)).toBe(false);
  },
);

test("rows are streamed, and a closed output ends the query", { timeout: 120_000 }, async () => {
  const { child, ended, says } = start(home("x"), [
    "sql",
    "SELECT range AS n FROM range(100000000000)",
    "--format",
    "jsonl",
  ]);
  await says('{"n":5}');
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0 });
});

test("init prints SQL that a DuckDB without Skein can run, with the data directory in CLAUDE_CONFIG_DIR", async () => {
  const { code, out } = await skein(home("x"), "sql", "init");
  expect(code).toBe(0);
  expect(out).toContain("What differs here");
  expect(await rowsOf(":memory:", `${out}; ${PROMPTS}`)).toEqual([{ content: "x", n: "1" }]);
  const elsewhere = dataFolder();
  const { child, ended } = start(dataFolder(), ["sql", "init"], { CLAUDE_CONFIG_DIR: elsewhere });
  child.stdin?.end();
  expect((await ended).out).toContain(`SET VARIABLE skein_root = '${elsewhere}'`);
});
