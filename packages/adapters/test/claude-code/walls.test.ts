/**
 * A model cannot make a sandboxed Claude Code act outside of its sandbox. The tests use the real binary and the
 * simulator.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { openBubblewrap } from "@skein/adapters/sandboxes/bubblewrap";
import { createSpawnChild } from "@skein/adapters/runtimes/claude-code/process-guard";
import { createModelBroker } from "@skein/adapters/sandboxes/model-broker";
import { createMemoryStore } from "@skein/core";
import { priceCall } from "@skein/protocol";
import { createSimulator } from "@skein/simulator";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { ClaudeWalls } from "../../src/runtimes/claude-code/index.ts";
import { claudeAgent, createWorld, folder, only, play, until } from "./world.ts";

const hasBubblewrap =
  spawnSync("bwrap", ["--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "true"]).status === 0;
const KEY = "sk-ant-api03-the-real-key";

describe.skipIf(!hasBubblewrap)("Claude Code in a sandbox", () => {
  let sandbox: ClaudeWalls["sandbox"];
  beforeAll(async () => {
    const opened = await openBubblewrap();
    if ("problem" in opened) throw new Error(opened.problem);
    ({ sandbox } = opened);
  });

  async function walledWorld(more: Partial<ClaudeWalls> = {}, deps: Parameters<typeof createWorld>[0] = {}) {
    const simulator = await createSimulator();
    const broker = createModelBroker({ baseUrl: simulator.url, credentials: { "x-api-key": KEY } });
    const sockets: string[] = [];
    const issue: typeof broker.issue = async (rules) => {
      const pass = await broker.issue(rules);
      sockets.push(pass.socket);
      return pass;
    };
    onTestFinished(async () => {
      await broker.close();
      await simulator.close();
    });
    const home = folder();
    const configDirOf = (tenant: string, sessionId: string): string => {
      const path = join(home, tenant, sessionId);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      return path;
    };
    const walls = async (): Promise<ClaudeWalls> => ({ sandbox, broker: { ...broker, issue }, ...more });
    const world = await createWorld({ walls, configDirOf, ...deps });
    return { ...world, home, model: simulator, sockets };
  }

  test("a sandboxed session runs, resumes and writes files, and cannot see the server's files", async () => {
    const world = await walledWorld();
    const { cwd, home } = world;
    writeFileSync(join(home, "admin-key"), "secret of the server");
    chmodSync(join(home, "admin-key"), 0o600);
    symlinkSync(join(home, "admin-key"), join(cwd, "link"));
    const look = [
      `cat ${home}/admin-key /etc/shadow link /proc/1/environ 2>&1 | tr '\\0' '\\n' > seen`,
      "env >> seen",
      `ls ${home} / >> seen 2>&1`,
      `echo made > made`,
    ].join("; ");
    const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
    const allowed = { allowed_tools: ["Bash", "Read", "Write"] };
    const first = await world.run(
      play(bash(look), { tools: [{ name: "Read", input: { file_path: join(home, "admin-key") } }] }, { text: "Done." }),
      allowed,
    );
    const last = first.events.at(-1);
    expect(last?.event_type).toBe("session.completed");
    expect(readFileSync(join(cwd, "made"), "utf8")).toBe("made\n");
    const seen = readFileSync(join(cwd, "seen"), "utf8");
    expect(seen).not.toMatch(/secret of the server|sk-ant-api03|root:/);
    expect(JSON.stringify(first.events)).not.toContain("secret of the server");

    const second = await world.again(first.sessionId, play(bash("cat made > again"), { text: "Again." }));
    expect(second.at(-1)?.event_type).toBe("session.completed");
    expect(readFileSync(join(cwd, "again"), "utf8")).toBe("made\n");
    expect(world.model.ledger.calls({ kind: "messages" }).length).toBeGreaterThan(3);
    expect(world.problems).toEqual([]);
  });

  test("the possible cost of an interrupted answer is reserved, because the broker saw its token limit", async () => {
    const world = await walledWorld();
    const { sessionId, runId } = await world.sessions.begin(
      claudeAgent({ cwd: world.cwd }),
      play({ text: "Once upon a time. ".repeat(400), chunk: 6, chunkDelayMs: 40 }),
    );
    let arrived = 0;
    world.host.live.subscribe(sessionId, () => void (arrived += 1));
    await until(() => arrived > 10);
    await world.sessions.cancel(sessionId);
    const [lost] = only(await world.ended(sessionId, runId), "step.abandoned");
    if (!lost) throw new Error("No answer was interrupted.");
    const { model, usage, cost, reserved_micros } = lost.data;
    const [call] = world.model.ledger.calls({ kind: "messages" });
    const max_tokens = Number((call?.request as { max_tokens?: number } | undefined)?.max_tokens);
    const limit = priceCall(model, { ...usage, output_tokens: max_tokens });
    expect(reserved_micros).toBe((limit?.total_micros ?? 0) - (cost?.total_micros ?? 0));
    expect(reserved_micros).toBeGreaterThan(0);
  });

  test("a sandboxed session reaches the allowed hosts, by name and through the proxy, but no other hosts", async () => {
    const asked: string[] = [];
    const site = createServer((request, response) => {
      asked.push(String(request.headers.host));
      response.end("welcome");
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void site.close());
    const { port } = site.address() as AddressInfo;
    const world = await walledWorld({
      hosts: ["*.opened.test"],
      places: {
        allowsAddress: () => true,
        allowsPort: () => true,
        lookup: ((_host: string, _options: unknown, done: (error: null, all: unknown[]) => void) =>
          done(null, [{ address: "127.0.0.1", family: 4 }])) as never,
      },
    });
    const get = (host: string): string =>
      `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://${host}:${port}/ HTTP/1.1\\r\\nHost: ${host}\\r\\nProxy-Authorization: Basic %s\\r\\nConnection: close\\r\\n\\r\\n' "$password" >&3; head -1 <&3 >> answers; exec 3>&-`;
    const command = [
      'password=$(printf %s "$HTTP_PROXY" | sed "s#http://##; s#@.*##" | base64 -w0)',
      get("www.opened.test"),
      get("closed.test"),
      get("opened.test.evil.test"),
      `( : <> /dev/tcp/127.0.0.1/${port} ) 2>/dev/null && echo reached >> answers`,
      "true",
    ].join("; ");
    await world.run(play({ tools: [{ name: "Bash", input: { command } }] }, { text: "Done." }), {
      allowed_tools: ["Bash"],
    });
    const answers = readFileSync(join(world.cwd, "answers"), "utf8").split(/\r?\n/).filter(Boolean);
    expect(answers).toEqual(["HTTP/1.1 200 OK", "HTTP/1.1 403 Forbidden", "HTTP/1.1 403 Forbidden"]);
    expect(asked).toEqual([`www.opened.test:${port}`]);
  });

  test("if a sandboxed process cannot be started, its connections to the model and to hosts are closed", async () => {
    const gates: string[] = [];
    const start = createSpawnChild({ sandbox, folder: join(folder(), "run") });
    const world = await walledWorld(
      { hosts: ["example.com"] },
      {
        spawn(request, places = []) {
          gates.push(...places.map(({ path }) => path).filter((path) => path.includes("skein-hosts-")));
          return start(request, places);
        },
      },
    );
    const { events } = await world.run(play({ text: "Never." }), { cwd: join(world.cwd, "missing") });
    expect(events.at(-1)?.event_type).toBe("session.failed");
    expect([world.sockets.length, gates.length]).toEqual([1, 1]);
    expect([...world.sockets, ...gates].filter((path) => existsSync(path))).toEqual([]);
  });

  test("if a connection of a sandboxed process cannot be opened, the other connections are closed", async () => {
    const world = await walledWorld({ mcpEdge: async () => Promise.reject(new Error("no MCP here")) });
    const docs = { type: "http", url: "https://mcp.example.com" };
    const { events } = await world.run(play({ text: "Never." }), { mcp_servers: { docs } });
    expect(only(events, "session.failed")[0]?.data.error.message).toContain("no MCP here");
    expect(world.sockets).toHaveLength(1);
    expect(world.sockets.filter((path) => existsSync(path))).toEqual([]);
  });

  test("if the transcript of a sandboxed session cannot be read, no connection stays open", async () => {
    const store = createMemoryStore();
    let isGone = false;
    const read: typeof store.read = async (sessionId, ...range) => {
      if (isGone && range.length === 0) throw new Error("the store is gone");
      return store.read(sessionId, ...range);
    };
    const world = await walledWorld({}, { store: { ...store, read }, children: { maxIdle: 0 } });
    const { sessionId } = await world.run(play({ text: "One." }));
    await expect.poll(() => world.sockets.filter((path) => existsSync(path))).toEqual([]);
    isGone = true;
    const events = await world.again(sessionId, play({ text: "Never." }));
    expect(only(events, "session.failed")[0]?.data.error.message).toContain("the store is gone");
    expect(world.sockets.filter((path) => existsSync(path))).toEqual([]);
  });
});
