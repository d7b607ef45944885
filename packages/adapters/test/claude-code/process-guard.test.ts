/** Guarded child processes (a script watches each of them) end with their server, and leave nothing behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SpawnOptions, SpawnedProcess } from "@anthropic-ai/claude-agent-sdk";
import { createSimulator, script } from "@skein/simulator";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Sandbox } from "@skein/core";
import { type ChildTerms, createSpawnChild } from "../../src/runtimes/claude-code/process-guard/index.ts";
import { openNone } from "../../src/sandboxes/none.ts";
import { createStub } from "./stub.ts";
import { PATIENCE_MS } from "../../../../scripts/patience.ts";

const SOON = { timeout: PATIENCE_MS, interval: 20 };
const SERVER = fileURLToPath(new URL("processes/server.ts", import.meta.url));
const QUERY = fileURLToPath(new URL("processes/query.ts", import.meta.url));
const onPath = (name: string): string | undefined => (name === "unshare" ? undefined : `/usr/bin/${name}`);

let folder = "";
let best: Sandbox | undefined;
let group: Sandbox | undefined;
const stop = new AbortController();

beforeAll(async () => {
  const found = [await openNone(), await openNone(onPath)];
  [best, group] = found.map((each) => ("sandbox" in each ? each.sandbox : undefined));
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "skein-child-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});
afterAll(() => stop.abort());

function start(script: string, options: { sandbox?: Sandbox | undefined; terms?: ChildTerms; graceMs?: number } = {}) {
  const sandbox = options.sandbox ?? best;
  if (!sandbox) throw new Error("There is no bash here.");
  const spawnChild = createSpawnChild({
    sandbox,
    folder: join(folder, "run"),
    ...(options.terms && { terms: options.terms }),
    ...(options.graceMs !== undefined && { graceMs: options.graceMs }),
  });
  return spawnChild({
    command: "/bin/bash",
    args: ["--norc", "-c", script],
    cwd: folder,
    env: { PATH: "/usr/bin:/bin", MARK: folder },
    signal: stop.signal,
  });
}

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += Buffer.from(chunk).toString("utf8");
  return text;
}

/** The processes that have this test's mark in their environment. */
function marked(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").includes(`MARK=${folder}`);
      } catch {
        return false;
      }
    })
    .map(Number);
}
const nothingLeft = (): Promise<void> => vi.waitFor(() => expect(marked()).toEqual([]), SOON);

test("a guarded child fits the type of the SDK", () => {
  const spawnChild = createSpawnChild({ sandbox: best as Sandbox, folder });
  const fits: (options: SpawnOptions) => SpawnedProcess = spawnChild;
  expect(fits).toBe(spawnChild);
});

describe.each(["namespace", "group"] as const)("in a %s", (kind) => {
  const sandbox = (): Sandbox | undefined => (kind === "group" ? group : best);

  test("the output and the exit of a guarded child are passed on", async ({ skip }) => {
    if (sandbox()?.walls.processes !== (kind === "namespace")) skip(sandbox()?.walls.summary);
    const child = start("cat; echo no >&2; exit 7", { sandbox: sandbox() });
    const exit = new Promise((resolve) => child.once("exit", (code, signal) => resolve([code, signal])));
    child.stdin.end("through");
    expect(await textOf(child.stdout)).toBe("through");
    expect(await child.ended).toMatchObject({ cause: "exited", code: 7, signal: null, stderr: "no" });
    expect(await exit).toEqual([7, null]);
    expect(child).toMatchObject({ exitCode: 7, signalCode: null, killed: false });
  });

  test("a child that ignores SIGTERM is killed after its grace period, with everything that it started", async ({
    skip,
  }) => {
    if (sandbox()?.walls.processes !== (kind === "namespace")) skip(sandbox()?.walls.summary);
    const child = start(`trap '' TERM; (trap '' TERM; sleep 1000) & echo up; sleep 1000`, {
      sandbox: sandbox(),
      graceMs: 200,
    });
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect(await child.ended).toMatchObject({ cause: "killed" });
    await nothingLeft();
  });

  test("the background processes of a child end with the child", async ({ skip }) => {
    if (sandbox()?.walls.processes !== (kind === "namespace")) skip(sandbox()?.walls.summary);
    const child = start("sleep 1000 >/dev/null 2>&1 & exit 0", { sandbox: sandbox() });
    expect(await child.ended).toMatchObject({ cause: "exited", code: 0 });
    await nothingLeft();
  });

  test.for(["SIGKILL", "SIGSTOP"] as const)(
    "a child has no effect after %s of its server",
    async (signal, { skip }) => {
      if (sandbox()?.walls.processes !== (kind === "namespace")) skip(sandbox()?.walls.summary);
      const stub = await createStub(folder, `while :; do echo . >>${folder}/effects; sleep 0.02; done`);
      // After this time of silence the child of a stopped server is killed.
      const args = [kind, join(folder, "run"), signal === "SIGSTOP" ? "3000" : "60000", stub.executable];
      const server = spawn(process.execPath, ["--conditions=@skein/source", SERVER, ...args], {
        env: { PATH: process.env["PATH"], MARK: folder },
        stdio: ["ignore", "pipe", "inherit"],
      });
      try {
        expect(String((await once(server.stdout, "data"))[0])).toContain(kind);
        const effects = (): number => (existsSync(`${folder}/effects`) ? readFileSync(`${folder}/effects`).length : 0);
        await vi.waitFor(() => expect(effects()).toBeGreaterThan(4), SOON);
        server.kill(signal);
        await vi.waitFor(() => expect(marked().filter((pid) => pid !== server.pid)).toEqual([]), SOON);
        const counted = effects();
        await new Promise((resolve) => void setTimeout(resolve, 500));
        expect(effects()).toBe(counted);
      } finally {
        server.kill("SIGKILL");
      }
    },
  );
});

test("in a namespace even a daemon ends with the child, and the child sees only processes of the namespace", async ({
  skip,
}) => {
  if (!best?.walls.processes) skip(best?.walls.summary);
  const child = start(
    `setsid bash -c 'sleep 1000' </dev/null >/dev/null 2>&1 & ls /proc | grep -c '^[0-9]*$'; sleep 0.1`,
  );
  const seen = Number(await textOf(child.stdout));
  expect(seen).toBeLessThan(12);
  expect(await child.ended).toMatchObject({ cause: "exited" });
  await nothingLeft();
});

test("after SIGKILL of the server, the real Claude Code changes no file and calls no model", async ({ skip }) => {
  if (!best?.walls.processes) skip(best?.walls.summary);
  const simulator = await createSimulator();
  const effects = (): number => (existsSync(`${folder}/effects`) ? readFileSync(`${folder}/effects`).length : 0);
  const step = { tools: [{ name: "Bash", input: { command: "printf . >>effects" } }], delayMs: 100 };
  const prompt = `Count. ${script([...Array.from({ length: 100 }, () => step), { text: "Done." }], "effects")}`;
  const server = spawn(process.execPath, ["--conditions=@skein/source", QUERY, "guarded", folder, prompt], {
    env: {
      PATH: process.env["PATH"],
      MARK: folder,
      ANTHROPIC_BASE_URL: simulator.url,
      ANTHROPIC_API_KEY: "sk-ant-api03-dummy-not-a-key",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    await vi.waitFor(() => expect(effects()).toBeGreaterThan(2), SOON);
    server.kill("SIGKILL");
    await nothingLeft();
    const [counted, calls] = [effects(), simulator.ledger.calls().length];
    // This time is long enough for several more effects, because each effect takes about 0.15 s.
    await new Promise((resolve) => void setTimeout(resolve, 1500));
    expect([effects(), simulator.ledger.calls().length]).toEqual([counted, calls]);
  } finally {
    server.kill("SIGKILL");
    await simulator.close();
  }
}, 120_000);

test("a child that crashes leaves no core dump", async () => {
  const child = start("ulimit -c");
  expect(await textOf(child.stdout)).toBe("0\n");
});

test("when a server that still runs loses the lease of a session (the right to run it), the child is ended", async () => {
  let goodFor = 10_000;
  const child = start("echo up; sleep 1000", { terms: { goodForMs: () => goodFor } });
  await once(child.stdout, "data");
  goodFor = 0;
  expect(await child.ended).toMatchObject({ cause: "guard" });
  await nothingLeft();
});

test("a line of 100 MB ends a child; 100 MB on many lines do not", async () => {
  const line = start("head -c 100000000 /dev/zero; sleep 1000");
  line.stdout.resume();
  expect(await line.ended).toMatchObject({
    cause: "message_too_large",
    message: expect.stringContaining("max_buffer_size") as string,
  });
  const lines = start("yes 0123456789 | head -c 100000000");
  let bytes = 0;
  lines.stdout.on("data", (chunk: Uint8Array) => (bytes += chunk.length));
  expect(await lines.ended).toMatchObject({ cause: "exited", code: 0 });
  await vi.waitFor(() => expect(bytes).toBe(100_000_000), SOON);
  await nothingLeft();
});

test.each([
  ["echo 1234567890; sleep 1000", true],
  ["printf '12345\\n1234567890\\n'; sleep 1000", true],
  ["printf 1234; sleep 0.1; printf 567890; sleep 1000", true],
  ["printf '1234\\n5678\\n'; sleep 0.1; printf '9012\\n34567\\n'", false],
])("the limit of 8 bytes applies to a single message: %s", async (script, isOver) => {
  const child = start(script, { terms: { maxMessageBytes: 8 } });
  child.stdout.resume();
  expect((await child.ended).cause).toBe(isOver ? "message_too_large" : "exited");
});

test("a child that sends nothing, or answers too late, is ended", async () => {
  const spawnChild = createSpawnChild({ sandbox: best as Sandbox, folder: join(folder, "run"), startMs: 200 });
  const mute = spawnChild({ command: "/bin/sleep", args: ["1000"], env: { MARK: folder }, signal: stop.signal });
  expect(await mute.ended).toMatchObject({ cause: "start_timeout" });
  const quiet = start("echo up; sleep 1000", { terms: { goodForMs: () => 8000, quietMs: 500, isBusy: () => true } });
  quiet.stdout.resume();
  expect(await quiet.ended).toMatchObject({ cause: "quiet" });
  await nothingLeft();
});

test("the error for a program that cannot be started has the reason", async () => {
  const spawnChild = createSpawnChild({ sandbox: best as Sandbox, folder: join(folder, "run") });
  const request = { args: [], env: {}, signal: stop.signal };
  expect(await spawnChild({ ...request, command: join(folder, "nothing") }).ended).toMatchObject({
    cause: "not_started",
  });
  expect(() => spawnChild({ ...request, command: "/bin/true", cwd: join(folder, "nowhere") })).toThrow(
    "its working folder does not exist",
  );
  expect(() => spawnChild({ ...request, command: "/bin/true", args: ["x".repeat(200_000)] })).toThrow("too large");
});

test("while a child runs, the headers and environments of MCP servers are in a file that only this user can read", async () => {
  const stub = await createStub(folder, `echo up; cat >/dev/null`);
  const spawnChild = createSpawnChild({ sandbox: best as Sandbox, folder: join(folder, "run") });
  const config = JSON.stringify({ mcpServers: { x: { headers: { authorization: "canary-1" } } } });
  const child = spawnChild({
    command: stub.executable,
    args: ["--mcp-config", config, '--settings={"env":{"A":"canary-2"}}', "--model=x"],
    env: { PATH: "/usr/bin:/bin", MARK: folder },
    signal: stop.signal,
  });
  await once(child.stdout, "data");
  for (const pid of marked()) expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain("canary");
  const [{ argv } = { argv: [] as readonly string[] }] = await stub.starts();
  expect(argv).toEqual(["--mcp-config", expect.any(String), expect.stringMatching(/^--settings=\//), "--model=x"]);
  const file = argv[1] ?? "";
  expect(readFileSync(file, "utf8")).toBe(config);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, "run"))).mode & 0o777).toBe(0o700);
  child.stdin.end();
  await child.ended;
  expect(existsSync(file)).toBe(false);
});

test.each(["a folder that others can read", "a link"])("secrets are not put in %s", async (what) => {
  const place = join(folder, "run");
  if (what === "a link") await symlink(await mkdtemp(join(folder, "elsewhere-")), place);
  else {
    await mkdir(place);
    await chmod(place, 0o755);
  }
  const spawnChild = createSpawnChild({ sandbox: best as Sandbox, folder: place });
  const request = { command: "/bin/true", args: ["--mcp-config", "{}"], env: {}, signal: stop.signal };
  expect(() => spawnChild(request)).toThrow("0700");
});

test("the next server removes the files with secret arguments that a killed server left", async () => {
  const stub = await createStub(folder, "echo up; sleep 1000");
  const args = ["namespace", join(folder, "run"), "60000", stub.executable, "--mcp-config", '{"canary":1}'];
  const server = spawn(process.execPath, ["--conditions=@skein/source", SERVER, ...args], {
    env: { PATH: process.env["PATH"], MARK: folder },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(server.stdout, "data");
  await vi.waitFor(async () => expect(await stub.starts()).toHaveLength(1), SOON);
  server.kill("SIGKILL");
  await once(server, "exit");
  expect(readdirSync(join(folder, "run"))).toHaveLength(1);
  createSpawnChild({ sandbox: best as Sandbox, folder: join(folder, "run") });
  expect(existsSync(join(folder, "run"))).toBe(false);
  await nothingLeft();
});

test("the end of stderr is reported, without secrets", async () => {
  const child = start(
    "head -c 100000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'key sk-ant-api03-0123456789abcdef and my-own-canary' >&2",
    { terms: { secrets: ["my-own-canary"] } },
  );
  child.stdout.resume();
  const { stderr } = await child.ended;
  expect(stderr.length).toBeLessThanOrEqual(4096);
  expect(stderr).toMatch(/key \[removed\] and \[removed\]$/);
});
