/** A stub in place of Claude Code records which parts of a request reach a child process. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Stub, createStub } from "../../../../adapters/test/claude-code/stub.ts";
import { hasBubblewrap } from "../../../../sql/test/bubblewrap.ts";
import { scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { all, only } from "./world.ts";

let home: string;
let stub: Stub;
let server: ClaudeServer;
beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "skein-claude-security-")));
  process.env["CANARY_OF_THE_SERVER"] = "canary-server-environment";
  stub = await createStub(home, "sleep 1; exit 3");
  server = await claudeServer({
    claude: {
      executable: stub.executable,
      env: ["MY_TOKEN"],
      mcpServers: {
        git: { command: "/bin/true", env: { GIT_TOKEN: "canary-registered-env" } },
        wiki: {
          type: "http",
          url: "https://wiki.example.com/canary-url",
          headers: { authorization: "canary-registered-header" },
        },
      },
    },
  });
});
afterAll(async () => {
  delete process.env["CANARY_OF_THE_SERVER"];
  await server.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

const refused = async (body: object, path = "/api/v1/query"): Promise<[number, string]> => {
  const { status, body: answer } = await server.call("POST", path, { prompt: "Hello.", ...body });
  expect(JSON.stringify(answer)).not.toMatch(/canary|\/tmp\//);
  return [status, answer.error?.code];
};
const VALIDATION = [422, "VALIDATION_ERROR"];

test.each(['--settings={"hooks":{}}', "-p", "../../x", "a;touch /tmp/p", "$(id)", "x".repeat(1024), "\0", ""])(
  "the session id %j is rejected",
  async (id) => {
    expect(await refused({ session_id: id })).toEqual(VALIDATION);
    const path = `/api/v1/sessions/${encodeURIComponent(id)}`;
    if (id !== "") expect((await refused({}, `${path}/resume`))[0]).toBeGreaterThanOrEqual(400);
    if (id !== "") expect((await refused({}, `${path}/fork`))[0]).toBeGreaterThanOrEqual(400);
  },
);

test.each([
  [{ extra_args: { "dangerously-skip-permissions": null } }, [403, "arg_not_allowed"]],
  [{ extra_args: { settings: "/x" } }, [403, "arg_not_allowed"]],
  [{ extra_args: { "mcp-config": "{}" } }, [403, "arg_not_allowed"]],
  [{ extra_args: { "-p": null } }, [403, "arg_not_allowed"]],
  [{ extra_args: { "a b": null } }, [403, "arg_not_allowed"]],
  ...[
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "PATH",
    "GIT_SSH_COMMAND",
    "BASH_ENV",
    "CLAUDE_CONFIG_DIR",
  ].map((name): [object, unknown[]] => [{ env: { [name]: "x" } }, [403, "not_allowed"]]),
  [{ cwd: "/etc" }, [403, "not_allowed"]],
  [{ cwd: "/srv/../etc" }, [403, "not_allowed"]],
  [{ cwd: "\0" }, VALIDATION],
  [{ cwd: "relative" }, VALIDATION],
  [{ add_dirs: ["--dangerously-skip-permissions", "/"] }, VALIDATION],
  [{ add_dirs: ["/"] }, [403, "not_allowed"]],
  [{ settings: "/etc/passwd" }, [403, "not_allowed"]],
  [{ settings: '{"hooks":{}}' }, [403, "not_allowed"]],
  [{ plugins: [{ name: "x", path: "/tmp/evil" }] }, [403, "not_allowed"]],
  [{ mcp_servers: { x: { type: "stdio", command: "sh", args: ["-c", "id"] } } }, [403, "not_allowed"]],
  [{ mcp_servers: { x: { type: "http", url: "http://169.254.169.254/latest" } } }, [422, "url_not_allowed"]],
  [{ hooks: { Stop: { url: "http://[::ffff:7f00:1]/" } } }, [422, "url_not_allowed"]],
  [{ hooks: { Stop: { url: "https://example.com", matcher: "(?=x)" } } }, VALIDATION],
  [{ permission_mode: "bypassPermissions" }, [403, "not_allowed"]],
  [{ allowed_tools: ["Read,Bash"] }, VALIDATION],
  [{ allowed_tools: ["mcp__x Write"] }, VALIDATION],
  [{ agents: { a: { description: "d", prompt: "p", tools: ["Task"] } } }, VALIDATION],
  [{ model: "gpt-4" }, VALIDATION],
])("a query with %j is rejected before anything is started", async (body, answer) => {
  expect(await refused(body)).toEqual(answer);
  expect(await refused(body, "/api/v1/query/single")).toEqual(answer);
  expect(await stub.starts()).toEqual([]);
});

test.each([
  [{ env: { LD_PRELOAD: "/x" } }, "not_allowed"],
  [{ extra_args: { "dangerously-skip-permissions": null } }, "arg_not_allowed"],
  [{ permission_mode: "bypassPermissions", sandbox: { enabled: true } }, "not_allowed"],
  [{ cwd: "/etc" }, "not_allowed"],
])("an imported log with %j gives no rights", async (claude, code) => {
  const agent = await server.call("POST", "/v1/agents", { name: "Weaver", runtime: "claude-code" });
  const session = await server.call("POST", "/v1/sessions", { agent_id: agent.body.id });
  const { body } = await server.call("GET", `/v1/sessions/${session.body.id}/export`);
  await server.call("DELETE", `/v1/sessions/${session.body.id}`);
  const forged = JSON.parse(JSON.stringify(body)) as { events: { data: { agent?: { extras: object } } }[] };
  for (const { data } of forged.events) if (data.agent) data.agent.extras = { claude };
  const { status, body: imported } = await server.call("POST", "/v1/sessions/import", forged);
  expect(status).toBe(201);
  const said = await server.call("POST", `/v1/sessions/${imported.id}/messages`, {
    role: "user",
    content: { text: "Hi." },
  });
  expect(said.status).toBe(202);
  const path = `/v1/sessions/${imported.id}/events?limit=100`;
  await expect.poll(async () => JSON.stringify((await server.call("GET", path)).body)).toContain(`"code":"${code}"`);
  expect(await stub.starts()).toEqual([]);
});

const CANARIES = {
  env: { MY_TOKEN: "canary-env-value" },
  hooks: {
    Stop: {
      url: "https://hooks.example.com/canary-path?token=canary-query",
      headers: { authorization: "Bearer canary-hook-header" },
      secret: `whsec_${Buffer.from("canary-hook-secret-0123456789").toString("base64")}`,
    },
  },
  mcp_servers: {
    git: { command: "git" },
    wiki: { command: "wiki" },
    own: { type: "sse", url: "https://mcp.example.com/canary-mcp-path", headers: { "x-key": "canary-mcp-header" } },
  },
};
const CANARY = /canary|Y2FuYXJ5/;

test("arguments, logs, errors and events contain no secret, and the child process does not get the server's environment", async () => {
  const seen: string[] = [];
  const watching = setInterval(() => seen.push(...commandLines(home)), 20);
  const frames = await all(server, "/api/v1/query", { prompt: "Hello.", ...CANARIES });
  clearInterval(watching);
  expect(only(frames, "error").data).toMatchObject({ code: "AGENT_ERROR" });
  const [start] = await stub.starts();
  expect(start?.argv.join("\n")).toContain("--mcp-config");
  expect(start?.argv.join("\n")).not.toMatch(CANARY);
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.join("\n")).not.toMatch(CANARY);
  expect(start?.env).toMatchObject({ MY_TOKEN: "canary-env-value", ANTHROPIC_API_KEY: expect.any(String) as string });
  expect(Object.values(start?.env ?? {})).not.toContain("canary-server-environment");
  expect(
    Object.keys(start?.env ?? {})
      .filter((name) => !/^(CLAUDE_|ANTHROPIC_)/.test(name))
      .sort(),
  ).toEqual(
    ["HOME", "HTTPS_PROXY", "HTTP_PROXY", "LANG", "MY_TOKEN", "NO_PROXY", "PATH", "PWD", "SHLVL", "TMPDIR", "_"].sort(),
  );

  const { sessions } = (await server.call("GET", "/api/v1/sessions")).body as unknown as { sessions: { id: string }[] };
  const id = sessions[0]?.id;
  const paths = ["/v1/agents", `/v1/sessions/${id}`, `/api/v1/sessions/${id}`, `/api/v1/sessions/${id}/messages`];
  const answers = await Promise.all(paths.map(async (path) => (await server.call("GET", path)).body));
  const events = (await server.call("GET", `/v1/sessions/${id}/events?limit=1000`)).body;
  for (const told of [frames, events, ...answers, server.logged]) expect(JSON.stringify(told)).not.toMatch(CANARY);
  expect(JSON.stringify(events)).toContain("secret:");
});

test("after a real session with hooks and MCP servers, neither the store nor a transcript contains a secret", async () => {
  const sink = createServer(
    (request, response) => void request.resume().on("end", () => response.writeHead(404).end()),
  );
  await new Promise<void>((resolve) => void sink.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
  const real = await claudeServer({
    allowedWebhookAddresses: ["127.0.0.1"],
    claude: {
      env: ["MY_TOKEN"],
      mcpServers: {
        wiki: { type: "http", url: `${url}/canary-url`, headers: { authorization: "canary-registered-header" } },
      },
    },
  });
  try {
    const frames = await all(real, "/api/v1/query", {
      prompt: scripted("secrets", [{ tools: [{ name: "Bash", input: { command: "echo done" } }] }, { text: "Hi." }]),
      allowed_tools: ["Bash"],
      include_partial_messages: true,
      env: CANARIES.env,
      hooks: { PostToolUse: { ...CANARIES.hooks.Stop, url: `${url}/canary-path?token=canary-query` } },
      mcp_servers: {
        wiki: { command: "wiki" },
        own: { type: "http", url: `${url}/canary-mcp-path`, headers: { "x-key": "canary-mcp-header" } },
      },
    });
    expect(only(frames, "result").data).toMatchObject({ is_error: false });
    const id = only(frames, "init").data.session_id;
    const paths = [
      `/v1/sessions/${id}/events?limit=1000`,
      `/v1/sessions/${id}/export`,
      `/api/v1/sessions/${id}/export`,
    ];
    const answers = await Promise.all(paths.map(async (path) => (await real.call("GET", path)).body));
    expect(JSON.stringify(answers)).toContain("hook.called");
    for (const told of [frames, ...answers, real.logged]) expect(JSON.stringify(told)).not.toMatch(CANARY);
    expect(JSON.stringify(real.simulator.ledger.calls())).not.toMatch(CANARY);
  } finally {
    await real.close();
    sink.closeAllConnections();
    sink.close();
  }
});

test("a folder's settings are ignored unless they are requested", async () => {
  const real = await claudeServer();
  try {
    const project = join(real.work, "project");
    mkdirSync(join(project, ".claude"), { recursive: true });
    const canary = join(real.work, "canary");
    const hook = { hooks: [{ type: "command", command: `touch ${canary}` }] };
    writeFileSync(
      join(project, ".claude", "settings.json"),
      JSON.stringify({
        hooks: { SessionStart: [hook], UserPromptSubmit: [hook] },
        env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9/" },
      }),
    );
    writeFileSync(
      join(project, ".mcp.json"),
      JSON.stringify({ mcpServers: { x: { command: "touch", args: [canary] } } }),
    );
    const frames = await all(real, "/api/v1/query", { prompt: scripted("project", [{ text: "Hi." }]), cwd: project });
    expect(only(frames, "result").data).toMatchObject({ is_error: false, result: "Hi." });
    expect(only(frames, "init").data["mcp_servers"]).toEqual([]);
    expect(existsSync(canary)).toBe(false);
  } finally {
    await real.close();
  }
});

test.skipIf(!hasBubblewrap || !existsSync("/usr/bin/socat"))(
  "permissions are bypassed if operator, key and sandbox allow it, and the session cannot write outside its sandbox",
  async () => {
    const real = await claudeServer({ claude: { bypassPermissions: true } });
    try {
      const outside = join(home, "outside");
      const steps = [
        { tools: [{ name: "Bash", input: { command: `touch inside; touch ${outside}; echo tried` } }] },
        { text: "$LAST" },
      ];
      const frames = await all(real, "/api/v1/query", {
        prompt: scripted("bypass", steps),
        cwd: real.work,
        permission_mode: "bypassPermissions",
        sandbox: { enabled: true },
      });
      expect(only(frames, "result").data).toMatchObject({ is_error: false });
      expect(frames.some(({ event }) => event === "question")).toBe(false);
      expect([existsSync(join(real.work, "inside")), existsSync(outside)]).toEqual([true, false]);
    } finally {
      await real.close();
    }
  },
);

/** The command lines that contain a mark of this test. Other processes are ignored. */
function commandLines(mark: string): readonly string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const line = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, "utf8") : "";
      return line.includes(mark) ? [line] : [];
    } catch {
      return [];
    }
  });
}
