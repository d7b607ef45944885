/**
 * Tests how databases of coding agents are opened: nothing is written, no process waits, and all rows in the
 * write-ahead log are read.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { listSessions, withSources } from "../../../src/index.ts";
import { keepDatabases, readDatabase } from "../../../src/sources/port/sqlite.ts";
import { agentData, agentNames, temporaryFolder } from "../agent-data.ts";

const { DatabaseSync: Database } = createRequire(import.meta.url)("node:sqlite");

const rowsIn = (path: string): number => readDatabase(path, (database) => database.all("SELECT a FROM t").length);

/** Returns a database with one row, and an open connection as in a running agent. */
function live(mode: "wal" | "delete" = "wal"): { readonly path: string; readonly agent: DatabaseSync } {
  const path = join(temporaryFolder(), "agent.db");
  const agent = new Database(path, { timeout: 0 });
  agent.exec(`PRAGMA journal_mode = ${mode}; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a)`);
  agent.exec("INSERT INTO t VALUES (1)");
  onTestFinished(() => {
    if (agent.isOpen) agent.close();
  });
  return { path, agent };
}

test.each(["wal", "delete"] as const)("a reader cannot write to a database with journal mode %s", (mode) => {
  const { path, agent } = live(mode);
  const write = (): unknown => readDatabase(path, (database) => database.all("INSERT INTO t VALUES (2)"));
  expect(write).toThrow(/readonly/);
  agent.close();
  expect(write).toThrow(/readonly/);
  expect(rowsIn(path)).toBe(1);
});

test("if the agent does not run, reading its database creates no file beside it", () => {
  const { path, agent } = live();
  agent.close();
  expect(rowsIn(path)).toBe(1);
  expect(readdirSync(join(path, ".."))).toEqual(["agent.db"]);
});

test("an agent can write while its database is read, and only the next reader sees the change", () => {
  const { path, agent } = live();
  readDatabase(path, (database) => {
    expect(database.all("SELECT a FROM t")).toHaveLength(1);
    agent.exec("INSERT INTO t VALUES (2)");
    expect(database.all("SELECT a FROM t")).toHaveLength(1);
  });
  expect(rowsIn(path)).toBe(2);
});

test("if an agent starts and writes while its database is read, the next reader sees the new row", () => {
  const { path, agent } = live();
  agent.close();
  keepDatabases(() => {
    expect(rowsIn(path)).toBe(1);
    const later = new Database(path);
    later.exec("INSERT INTO t VALUES (2)");
    expect(rowsIn(path)).toBe(2);
    later.close();
  });
});

test("reading a database without locks fails if its agent changes the database during the read", () => {
  const { path, agent } = live();
  agent.close();
  const read = (): void =>
    readDatabase(path, () => {
      const later = new Database(path);
      later.exec("INSERT INTO t VALUES (2)");
      later.close();
    });
  expect(read).toThrow("was changed while it was read");
  expect(rowsIn(path)).toBe(2);
});

test("a database with a write-ahead log but without a -shm file is read with the rows of the log, and no file is created beside it", () => {
  const { path } = live();
  const copy = join(temporaryFolder(), "copy.db");
  for (const suffix of ["", "-wal"]) copyFileSync(`${path}${suffix}`, `${copy}${suffix}`);
  expect(rowsIn(copy)).toBe(1);
  expect(readdirSync(join(copy, ".."))).toEqual(["copy.db", "copy.db-wal"]);
});

test("while databases are kept open, a copy is made once, and it is removed at the end", () => {
  const { path } = live();
  const folder = temporaryFolder();
  const [copy, temporary] = [join(folder, "copy.db"), join(folder, "tmp")];
  mkdirSync(temporary);
  for (const suffix of ["", "-wal"]) copyFileSync(`${path}${suffix}`, `${copy}${suffix}`);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = temporary;
  try {
    keepDatabases(() => {
      for (let at = 0; at < 3; at += 1) expect(rowsIn(copy)).toBe(1);
      expect(readdirSync(temporary)).toHaveLength(1);
    });
    expect(readdirSync(temporary)).toEqual([]);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
});

test("if an agent was killed during a change, its database is read as before the change", () => {
  const { path, agent } = live("delete");
  const crashed = join(temporaryFolder(), "crashed.db");
  agent.exec("PRAGMA cache_size = 1; BEGIN");
  for (let at = 0; at < 200; at += 1) agent.exec(`INSERT INTO t VALUES (hex(randomblob(2000)))`);
  for (const suffix of ["", "-journal"]) copyFileSync(`${path}${suffix}`, `${crashed}${suffix}`);
  expect(rowsIn(crashed)).toBe(1);
  expect(readdirSync(join(crashed, ".."))).toEqual(["crashed.db", "crashed.db-journal"]);
});

/**
 * Runs a script in a new process. If the tests run as root, the process runs as the user nobody, because root may read
 * and write everything.
 */
function asNobody(script: string): unknown {
  const temporary = temporaryFolder();
  chmodSync(temporary, 0o777);
  const source = (file: string): string => JSON.stringify(join(import.meta.dirname, "../../../src", file));
  const run = spawnSync(
    process.execPath,
    [
      "--conditions=@skein/source",
      "--disable-warning=ExperimentalWarning",
      "--input-type=module",
      "-e",
      `import * as library from ${source("index.ts")};
       import { readDatabase } from ${source("sources/port/sqlite.ts")};
       ${script}`,
    ],
    {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], TMPDIR: temporary },
      ...(process.getuid?.() === 0 && { uid: 65_534, gid: 65_534 }),
    },
  );
  if (run.status !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout) as unknown;
}

/** Copies the folder of a session. The copy has another id, which ends with 9. */
function copySession(folder: string): void {
  const copy = `${folder.slice(0, -1)}9`;
  mkdirSync(copy);
  const [id, other] = [basename(folder), basename(copy)];
  for (const file of readdirSync(folder))
    writeFileSync(join(copy, file), readFileSync(join(folder, file), "utf8").replaceAll(id, other));
}

describe.skipIf(process.platform === "win32")("files of another user", () => {
  test("an open database is read with its log, even without write permission for the file and the folder", () => {
    const { path } = live();
    // The test copies the database, because this process holds the locks of the original files. Closing them would
    // release the locks.
    const folder = temporaryFolder();
    const copies = [["", "-wal", "-shm"], ["", "-wal"], [""]].map((suffixes, at) => {
      const copy = join(folder, `${at}.db`);
      for (const suffix of suffixes) {
        copyFileSync(`${path}${suffix}`, `${copy}${suffix}`);
        chmodSync(`${copy}${suffix}`, 0o444);
      }
      return copy;
    });
    chmodSync(folder, 0o555);
    const counts = asNobody(`console.log(JSON.stringify(${JSON.stringify(copies)}.map((path) =>
      readDatabase(path, (db) => db.columns("t").size))))`);
    chmodSync(folder, 0o755);
    // Only the log contains the table, so the copy without a log does not have the table.
    expect(counts).toEqual([1, 1, 0]);
  });

  test("a copy of each agent's data in a read-only folder can be read", () => {
    const cache = temporaryFolder();
    chmodSync(cache, 0o777);
    const copies = agentNames.map((agent) => {
      const { folder, name, roots, sessions } = agentData(agent);
      const paths = ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })].map((path) =>
        join(folder, path),
      );
      for (const path of paths) chmodSync(path, statSync(path).isDirectory() ? 0o555 : 0o444);
      onTestFinished(() => paths.forEach((path) => statSync(path).isDirectory() && chmodSync(path, 0o755)));
      return { name, folder, roots, sessions: sessions.filter(({ parent }) => !parent).length };
    });
    const read = asNobody(`
      const found = [];
      for (const { name, folder, roots } of ${JSON.stringify(copies)}) {
        // Claude Desktop's sessions are transcripts of Claude Code.
        process.env.CLAUDE_CONFIG_DIR = folder + "/home/.claude";
        const { config, problems } = await library.withSources({
          dataPath: roots, sources: [name], cacheFolder: ${JSON.stringify(cache)} + "/" + found.length });
        const { data } = await library.listSessions({ ...config, limit: Infinity });
        found.push({ name, problems, sessions: data.length });
      }
      console.log(JSON.stringify(found));`);
    expect(read).toEqual(copies.map(({ name, sessions }) => ({ name, problems: [], sessions })));
  });

  test("a folder without read permission is reported, and the sessions outside of it are listed", () => {
    const data = agentData("codex");
    const closed = join(data.folder, "sessions", "2026", "08", "20");
    const cache = temporaryFolder();
    chmodSync(data.folder, 0o755);
    chmodSync(cache, 0o777);
    const script = `
      const { config, problems } = await library.withSources({
        dataPath: ${JSON.stringify(data.folder)}, cacheFolder: ${JSON.stringify(cache)}, lines: "as-needed" });
      const { data } = await library.listSessions(config);
      const { skipped } = await library.verify(config);
      console.log(JSON.stringify({ problems, ids: data.map(({ id }) => id.slice(-1)).sort(), skipped: skipped.map(({ path }) => path) }));`;
    expect(asNobody(script)).toMatchObject({ problems: [], ids: ["a", "c", "d"] });
    chmodSync(closed, 0);
    const kept = asNobody(script);
    rmSync(cache, { recursive: true });
    mkdirSync(cache);
    chmodSync(cache, 0o777);
    const first = asNobody(script);
    chmodSync(closed, 0o755);
    const problems = [{ source: "codex", path: closed, message: "EACCES" }];
    // Sessions that were read before are kept. Without an earlier read, the list has only readable sessions.
    expect(kept).toMatchObject({ problems, ids: ["a", "c", "d"] });
    expect(first).toMatchObject({ problems, ids: ["c", "d"] });
    expect(first).toMatchObject({ skipped: [closed] });
  });

  test.each([
    ["gemini", /1a2b3c4d\.jsonl$/, 2],
    ["copilot", /c0000000-0000-4000-8000-000000000001$/, 2],
    ["cursor", /d0000000-0000-4000-8000-000000000001$/, 2],
    ["kimi", /b1000000-0000-4000-8000-000000000001$/, 1],
    ["grok", /01999999-0000-7000-8000-000000000001$/, 1],
  ] as const)(
    "a session of %s without read permission is reported, and the other sessions are listed",
    (agent, name, listed) => {
      const data = agentData(agent);
      const cache = temporaryFolder();
      for (const path of [data.folder, join(data.folder, "home")].filter((folder) => existsSync(folder)))
        chmodSync(path, 0o755);
      chmodSync(cache, 0o777);
      const closed =
        readdirSync(data.folder, { recursive: true, encoding: "utf8" }).find((path) => name.test(path)) ?? "";
      // The data of Grok has only one session.
      if (agent === "grok") copySession(join(data.folder, closed));
      chmodSync(join(data.folder, closed), 0);
      const read = asNobody(`
      const { config, problems } = await library.withSources({
        dataPath: ${JSON.stringify(data.roots)}, sources: [${JSON.stringify(agent)}], cacheFolder: ${JSON.stringify(cache)} });
      const { data } = await library.listSessions(config);
      console.log(JSON.stringify({ problems, sessions: data.length }));`) as {
        problems: { path: string }[];
        sessions: number;
      };
      chmodSync(join(data.folder, closed), 0o755);
      expect(read.problems.map(({ path }) => path)).toEqual(
        expect.arrayContaining([expect.stringContaining(closed) as string]),
      );
      expect(read.sessions).toBe(listed);
    },
  );
});

test("a locked database is reported as a problem until it is unlocked", async () => {
  const data = agentData("goose");
  const cacheFolder = join(temporaryFolder(), "cache");
  const open = async () =>
    await withSources({ dataPath: data.roots, sources: ["goose"], cacheFolder, lines: "as-needed" });
  const agent = new Database(join(data.folder, "sessions.db")) as DatabaseSync;
  agent.exec("BEGIN EXCLUSIVE");
  const locked = await open();
  expect(locked.problems).toMatchObject([{ source: "goose", message: "database is locked" }]);
  expect((await listSessions(locked.config)).data).toEqual([]);
  agent.exec("ROLLBACK");
  agent.close();
  const free = await open();
  expect(free.problems).toEqual([]);
  expect((await listSessions(free.config)).data).not.toEqual([]);
});

test("reading a file that is not a database, or a missing file, throws, changes no file and creates none", () => {
  const path = join(temporaryFolder(), "agent.db");
  const text = "This is not a database. ".repeat(100);
  writeFileSync(path, text);
  expect(() => rowsIn(path)).toThrow("file is not a database");
  expect(() => rowsIn(`${path}.missing`)).toThrow("ENOENT");
  expect(readFileSync(path, "utf8")).toBe(text);
  expect(existsSync(`${path}.missing`)).toBe(false);
  expect(readdirSync(join(path, ".."))).toEqual(["agent.db"]);
});
