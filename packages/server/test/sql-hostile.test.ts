import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";

/**
 * Statements that try to leave the sandbox of a real server process. The host has a secret file, a folder, an open port
 * and an environment variable, which no statement may reach.
 */
const bin = fileURLToPath(new URL("../../cli/bin/skein.js", import.meta.url));
const data = mkdtempSync(join(tmpdir(), "skein-hostile-"));
const SECRET = "the-secret-of-the-host";
const secretFile = join(data, "secret.txt");
const target = join(data, "written");

let server: ChildProcess;
const started: ChildProcess[] = [];
let url = "";
let key = "";
/** Counts the connections to a local port. No statement may reach this port. */
let visits = 0;
const port = createServer((socket) => {
  visits += 1;
  socket.end();
});
let portNumber = 0;

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask(sql: string): Promise<Answer> {
  const response = await fetch(`${url}/v1/sql`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
  return { status: response.status, text: await response.text() };
}

/** The statements in progress, at most as many as the server allows. */
const running = new Set<Promise<Answer>>();

/** Sends the statement when fewer than two statements run. */
async function askInTurn(sql: string): Promise<Answer> {
  while (running.size >= 2) await Promise.race(running);
  const answer = ask(sql);
  running.add(answer);
  return answer.finally(() => running.delete(answer));
}

/** Sends a statement that must succeed. It is sent again if the machine is too busy for the time limit. */
async function answered(sql: string): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask(sql);
    if (attempt === 5 || (answer.status === 200 && !answer.text.slice(-200).includes("over_limit"))) return answer;
  }
}

async function start(): Promise<void> {
  server = spawn(process.execPath, [bin, "serve", "--port", "0", "--data", data], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ANTHROPIC_API_KEY: "", SKEIN_API_KEY: "", SKEIN_STORE_URL: "", CANARY: SECRET },
    cwd: data,
  });
  started.push(server);
  let text = "";
  for await (const chunk of server.stdout ?? []) {
    text += String(chunk);
    if (text.includes("Ctrl-C")) break;
  }
  url = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0] ?? "";
  key = readFileSync(join(data, "admin-key"), "utf8").trim();
}

beforeAll(async () => {
  if (!hasBubblewrap) return;
  writeFileSync(secretFile, SECRET);
  port.listen(0, "127.0.0.1");
  await once(port, "listening");
  portNumber = (port.address() as { port: number }).port;
  await start();
}, 60_000);

afterAll(async () => {
  port.close();
  for (const each of started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
    each.kill("SIGKILL");
    await once(each, "exit");
  }
  rmSync(data, { recursive: true, force: true });
});

/** Returns the arguments of processes that have the server's folder in them. Leaves out the servers. */
function processesLeft(): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && ![process, ...started].some(({ pid }) => pid === Number(name)))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    })
    .filter((line) => line.includes(data));
}

describe.skipIf(!hasBubblewrap)("hostile statements", { timeout: 120_000 }, () => {
  test.concurrent.each([
    // Statements that read files of the host.
    `SELECT * FROM read_text('${secretFile}')`,
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/proc/self/environ')",
    "SELECT * FROM read_text('/skein/sql/package.json')",
    "SELECT * FROM glob('/**')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM parquet_metadata('/etc/passwd')",
    `FROM '${secretFile}'`,
    "FROM '/etc/passwd'",
    // Statements that write files.
    `COPY (SELECT 1) TO '${target}'`,
    "COPY (SELECT 1) TO '/data/x'",
    `EXPORT DATABASE '${target}'`,
    `ATTACH '${target}'`,
    "ATTACH ':memory:' AS more",
    // Statements that use the network or load code.
    "SELECT * FROM read_csv('http://127.0.0.1:PORT/')",
    "SELECT * FROM read_text('https://127.0.0.1:PORT/')",
    "ATTACH 'http://127.0.0.1:PORT/x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '/x.duckdb_extension'",
    // Statements that change settings.
    "SET lock_configuration = false",
    "RESET lock_configuration",
    "SET enable_external_access = true",
    "SET memory_limit = '100GB'",
    "SET threads = 64",
    "PRAGMA threads = 64",
    "PRAGMA enable_external_access = true",
    // Statements that change the database.
    "DROP TABLE platform.events",
    "DELETE FROM platform.events",
    "INSERT INTO platform.agents (id) VALUES ('x')",
    "UPDATE platform.agents SET name = 'x'",
    "CREATE TABLE t AS SELECT 1",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE MACRO f() AS 1",
    "CREATE OR REPLACE VIEW all_sessions AS SELECT 1",
    "CHECKPOINT",
    "BEGIN",
    // Other statements: procedure calls, profiling, several statements in one text, prepared statements, empty texts.
    "CALL enable_logging(storage = 'file', storage_config = {'path': '/data/log'})",
    "PRAGMA enable_profiling",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY (SELECT 1) TO '/data/x'",
    "SELECT 1 /* ; */; DROP TABLE platform.events --",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "EXPLAIN ANALYZE DROP TABLE platform.events",
    `FROM query('SELECT * FROM read_text(''${secretFile}'')')`,
    "FROM query_table('/etc/passwd')",
    "SELECT getenv('CANARY')",
    "SELECT getvariable('x') FROM read_text(getvariable('x'))",
    "-- nothing",
    ";",
  ])("%s is refused, and nothing of the host is in the answer", async (statement) => {
    const { status, text } = await askInTurn(statement.replace("PORT", String(portNumber)));
    // On a busy machine the statement may reach its time limit of 5 s instead of being rejected.
    expect([status, text]).toEqual([422, expect.stringMatching(/statement_failed|over_limit/)]);
    expect(text).not.toMatch(new RegExp(`${SECRET}|root:`));
  });

  test("harmless functions about settings are allowed and reveal no folder of the host", async () => {
    for (const table of ["settings", "databases", "variables"]) {
      const { text } = await answered(`FROM duckdb_${table}()`);
      expect(text).not.toContain(data);
      expect(text).not.toMatch(/"\/(?:home|root|etc|tmp)/);
    }
  });

  // DuckDB's parser classifies the statement of this test as a SELECT. Because the settings are locked, the statement
  // aborts the process that runs it.
  test("a statement that writes a log to a file ends at most the process in its sandbox", async () => {
    await ask(`SELECT * FROM enable_logging(storage = 'file', storage_config = {'path': '${target}'})`);
    expect((await answered("SELECT 42 AS n")).text).toContain('{"n":42}');
  });

  test("after hostile statements the server still answers and has written no file and opened no connection, and the stopped server leaves no process", async () => {
    expect(server.exitCode).toBeNull();
    expect(() => process.kill(server.pid ?? 0, 0)).not.toThrow();
    expect((await answered("SELECT 42 AS n")).text).toContain('{"n":42}');
    expect((await answered("SELECT count(*) AS n FROM platform.agents")).text).toContain('{"n":0}');
    expect(existsSync(target)).toBe(false);
    expect(visits).toBe(0);
    // At most two sandboxes are left, with two processes each: one waits for the next statement, and one sends rows.
    expect(processesLeft().filter((line) => line.includes("bwrap")).length).toBeLessThanOrEqual(4);
    server.kill("SIGTERM");
    expect(await once(server, "exit")).toEqual([0, null]);
    await expect.poll(processesLeft).toEqual([]);
    expect(readdirSync(join(data, "sql"))).toEqual([]);
  });

  test("statements end when their server is killed, and the next server removes the killed server's copies of the data", async () => {
    await start();
    expect(await answered("SELECT 1")).toMatchObject({ status: 200 });
    void ask("SELECT count(*) FROM range(100000000000) a, range(1000) b").catch(() => {});
    await expect.poll(() => processesLeft().length).toBeGreaterThan(1);
    server.kill("SIGKILL");
    await once(server, "exit");
    await expect.poll(processesLeft).toEqual([]);
    expect(readdirSync(join(data, "sql"))).toEqual([String(server.pid)]);
    await start();
    await answered("SELECT 1");
    expect(readdirSync(join(data, "sql"))).toEqual([String(server.pid)]);
  });
});
