import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type McpConnection, type McpServerOptions, connectMcpServer } from "@skein/adapters/mcp";
import { resultContent } from "@skein/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasBubblewrap } from "../../sql/test/bubblewrap.ts";

const program = fileURLToPath(new URL("mcp-server.ts", import.meta.url));
const repository = fileURLToPath(new URL("../../..", import.meta.url));

async function connected(options: Partial<McpServerOptions>): Promise<McpConnection> {
  const connection = await connectMcpServer({ name: "test", ...options });
  onTestFinished(() => connection.close());
  return connection;
}

const { NODE_COMPILE_CACHE = "" } = process.env;

const overStdio = (mode = "good", options: Partial<McpServerOptions> = {}) =>
  connected({
    command: process.execPath,
    args: ["--disable-warning=ExperimentalWarning", program, mode],
    ...options,
    env: { NODE_COMPILE_CACHE, ...options.env },
  });

async function overHttp(options: Partial<McpServerOptions> = {}): Promise<McpConnection> {
  const server = spawn(process.execPath, [program, "--http"], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void server.stdin.end());
  const [url] = (await once(createInterface(server.stdout), "line")) as [string];
  return connected({ url, headers: { "x-key": "open" }, ...options });
}

async function call(
  connection: McpConnection,
  tool: string,
  input: object = {},
  signal = new AbortController().signal,
) {
  const found = connection.tools.find(({ name }) => name === `mcp__test__${tool}`);
  if (!found) throw new Error(`no tool ${tool}`);
  const context = { sessionId: "s", runId: "r", toolUseId: "t", idempotencyKey: "k", workingDirectory: null, signal };
  return resultContent(await found.run(found.parse(input), context));
}

/** The ids of this process's children that run the test server in this mode. */
function running(mode: string): number[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      return words.includes(program) && words.includes(mode) && Number(parent) === process.pid ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

/** In the sandbox, the server can read only the system and the repository. */
const inSandbox = () => overStdio("good", { sandbox: "required", reads: [repository] });

const WAYS: readonly (readonly [string, () => Promise<McpConnection>])[] = [
  ["stdio", () => overStdio()],
  ["streamable HTTP", () => overHttp()],
  ...(hasBubblewrap ? [["stdio, in a sandbox", inSandbox] as const] : []),
];
describe.each(WAYS)("an MCP server over %s", (_, open) => {
  test("tools of an MCP server have the server's name as prefix, keep their schemas, and answer calls", async () => {
    const connection = await open();
    const add = connection.tools.find(({ name }) => name === "mcp__test__add");
    expect(add).toMatchObject({ description: "Adds.", policy: "repeatable", executor: "backend" });
    expect(add?.inputSchema).toMatchObject({ type: "object", required: ["a", "b"] });
    expect(connection.tools.find(({ name }) => name === "mcp__test__die")?.policy).toBe("once");
    expect(await call(connection, "add", { a: 2, b: 3 })).toEqual([{ type: "text", text: "5" }]);
    expect(await call(connection, "picture")).toEqual([
      {
        type: "image",
        source: {
          type: "base64",
          media_type: "image/png",
          data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
        },
      },
    ]);
    expect(connection.notices).toEqual([]);
  });

  test("an MCP tool reports invalid input and failures", async () => {
    const connection = await open();
    await expect(call(connection, "add", { a: "two" })).rejects.toThrow(/expected number|number/i);
    await expect(call(connection, "fail")).rejects.toThrow("It is broken.");
  });

  test("a result of 50 MB is an error, a result of 1 MB is cut, and the next call works", async () => {
    const connection = await open();
    await expect(call(connection, "giant")).rejects.toThrow(/did not answer/);
    const large = (await call(connection, "large")) as unknown as { text: string }[];
    expect(large[0]?.text.length).toBeLessThan(101_000);
    expect(await call(connection, "add", { a: 1, b: 1 })).toEqual([{ type: "text", text: "2" }]);
  });
});

test("a call that hangs is aborted after its time limit, or as soon as the run is cancelled", async () => {
  const impatient = await overStdio("good", { callTimeoutMs: 300 });
  await expect(call(impatient, "hang")).rejects.toThrow(/did not answer/);
  const connection = await overStdio("good", { callTimeoutMs: 60_000 });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 50);
  await expect(call(connection, "hang", {}, stop.signal)).rejects.toThrow();
  expect(await call(connection, "add", { a: 1, b: 2 })).toEqual([{ type: "text", text: "3" }]);
});

test("when a server dies, the model gets an error and people get a notice, and the next call starts the server again", async () => {
  const heard: string[] = [];
  const connection = await overStdio("good", { onNotice: (notice) => heard.push(notice) });
  await expect(call(connection, "die")).rejects.toThrow(/MCP server "test" did not answer/);
  expect(heard).toEqual(['The connection to the MCP server "test" broke.']);
  expect(await call(connection, "add", { a: 4, b: 4 })).toEqual([{ type: "text", text: "8" }]);
});

test("if a server lists 10,000 tools, the first hundred are used, and people get a notice", async () => {
  const { tools, notices } = await overStdio("many");
  expect(tools).toHaveLength(100);
  expect(notices).toEqual([expect.stringMatching(/lists \d+ tools or more; the first 100 are used/)]);
});

test("a tool description of a megabyte is cut", async () => {
  const { tools } = await overStdio("wordy");
  expect(tools.find(({ name }) => name === "mcp__test__wordy")?.description.length).toBe(4000);
});

test("a tool that changes after it was approved is no longer called, and people get a notice", async () => {
  const connection = await overStdio();
  expect(await call(connection, "shifty")).toEqual([{ type: "text", text: "done" }]);
  await call(connection, "turn");
  await expect.poll(() => connection.notices).toEqual([expect.stringContaining('"shifty"')]);
  await expect(call(connection, "shifty")).rejects.toThrow(/has changed since it was approved/);
  expect(await call(connection, "add", { a: 1, b: 2 })).toEqual([{ type: "text", text: "3" }]);
});

test("a server gets only the environment variables that are configured for it", async () => {
  process.env["SKEIN_CANARY"] = "sk-ant-CANARY";
  onTestFinished(() => void delete process.env["SKEIN_CANARY"]);
  const connection = await overStdio("good", { env: { TOKEN: "for-it" } });
  const printed = JSON.stringify(await call(connection, "env"));
  expect(printed).toContain("for-it");
  expect(printed).not.toContain("CANARY");
});

test.skipIf(!hasBubblewrap)(
  "an MCP server that the operator starts with a command can read the machine's files, unless it has its own sandbox",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "skein-mcp-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "canary.txt");
    writeFileSync(path, "canary");
    expect(await call(await overStdio(), "read", { path })).toEqual([{ type: "text", text: "canary" }]);
    const walled = await inSandbox();
    expect(await call(walled, "read", { path })).toEqual([{ type: "text", text: "nothing there" }]);
    expect(await call(walled, "read", { path: "/etc/shadow" })).toEqual([{ type: "text", text: "nothing there" }]);
    const printed = JSON.stringify(await call(walled, "env"));
    expect(
      Object.keys(JSON.parse((JSON.parse(printed) as { text: string }[])[0]?.text ?? "{}") as object).sort(),
    ).toEqual(expect.arrayContaining(["HOME", "LANG", "PATH"]));
    expect(printed).not.toMatch(/npm_|VITEST/);
    await walled.close();
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("skein-mcp-"))).toEqual([basename(folder)]);
  },
);

test.each(["good", "stubborn"])("closing the connection ends the child process in the mode %s", async (mode) => {
  const connection = await connectMcpServer({
    name: "test",
    command: process.execPath,
    args: [program, mode, "closing"],
  });
  expect(running("closing")).toHaveLength(1);
  const started = performance.now();
  await connection.close();
  expect(performance.now() - started).toBeLessThan(3000);
  expect(running("closing")).toEqual([]);
  await expect(call(connection, "add", { a: 1, b: 1 })).rejects.toThrow(/is closed/);
});

test.each([
  [
    "a server that ends immediately",
    { command: process.execPath, args: [program, "broken"] },
    /cannot find my configuration/,
  ],
  [
    "a server that never answers",
    { command: process.execPath, args: [program, "silent"], connectTimeoutMs: 1000 },
    /cannot be used/,
  ],
  ["a command that does not exist", { command: "no-such-command-anywhere" }, /cannot be used/],
  ["an address where no server listens", { url: "http://127.0.0.1:9/mcp" }, /cannot be used: fetch failed/],
  ["a text that is not an address", { url: "file:///etc/passwd" }, /http or https/],
  ["a server with neither a command nor a url", {}, /a command or a url/],
  ["a server with both a command and a url", { command: "x", url: "http://127.0.0.1:9/" }, /a command or a url/],
  ["a server with an invalid name", { name: "a b", command: "x" }, /not a valid name of an MCP server/],
])("%s fails with a clear error and leaves no process", async (_, options, why) => {
  await expect(connectMcpServer({ name: "test", connectTimeoutMs: 60_000, ...options })).rejects.toThrow(why);
  expect(running("silent")).toEqual([]);
});

test("if a server requires a key in a header and gets none, the error has the status 401", async () => {
  await expect(overHttp({ headers: {} })).rejects.toThrow(/cannot be used: .+ \(status 401\)\./);
});
