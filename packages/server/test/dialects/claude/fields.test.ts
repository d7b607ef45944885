import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { smallMcp } from "../../../../adapters/test/claude-code/small-mcp.ts";
import { hasBubblewrap } from "../../../../sql/test/bubblewrap.ts";
import { scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { type Frame, all, only, open } from "./world.ts";

/**
 * Fields of a query that need something outside the session: plugins, subagents, MCP servers, a sandbox. The tests
 * check the model's requests, the calls that servers received, and the files on disk.
 */

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const MCP = fileURLToPath(new URL("../../../../adapters/test/mcp-server.ts", import.meta.url));
const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
const resultOf = (frames: readonly Frame[]): string => String(only(frames, "result").data["result"]);

async function serving(
  claude: Parameters<typeof claudeServer>[0] & object,
): Promise<ClaudeServer & { readonly query: (body: object) => Promise<readonly Frame[]> }> {
  const server = await claudeServer({ allowedWebhookAddresses: ["127.0.0.1"], ...claude });
  onTestFinished(() => server.close());
  return { ...server, query: (body) => all(server, "/api/v1/query", body) };
}

/** A plugin with one command. */
function weavingPlugin(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "skein-plugin-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of [".claude-plugin", "commands"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, ".claude-plugin/plugin.json"), JSON.stringify({ name: "weaving", version: "1.0.0" }));
  writeFileSync(join(folder, "commands/knot.md"), "Tie a knot.");
  return folder;
}

test("plugins, subagents, MCP servers over stdio, HTTP and SSE, extra arguments and an image by URL reach Claude Code, and the session has the user of the query", async () => {
  const mcp = await smallMcp("weave", ({ thread }) => `woven ${String(thread)}`);
  const weaving = weavingPlugin();
  const { query, requests, call } = await serving({
    claude: {
      plugins: { weaving, unused: "/nowhere" },
      extraArgs: ["append-system-prompt"],
      mcpServers: {
        sums: { command: process.execPath, args: ["--conditions=@skein/source", MCP], env: { WOOL: "merino" } },
        web: { type: "http", url: mcp.http, headers: { "x-loom": "seven" } },
        old: { type: "sse", url: mcp.sse, headers: { "x-loom": "eight" } },
      },
    },
  });
  const inner = scripted("field-inner", [bash("echo from the helper"), { text: "The helper says $LAST." }]);
  const frames = await query({
    prompt: scripted("field", [
      { tools: [{ name: "mcp__sums__env", input: {} }] },
      { tools: [{ name: "mcp__web__weave", input: { thread: "red" } }] },
      { tools: [{ name: "mcp__old__weave", input: { thread: "green" } }] },
      { tools: [{ name: "Task", input: { description: "Help", prompt: inner, subagent_type: "helper" } }] },
      { text: "So: $LAST" },
    ]),
    images: [{ type: "url", media_type: "image/png", data: "https://images.example.com/loom.png" }],
    plugins: [{ name: "weaving" }, { name: "unused", enabled: false }],
    agents: {
      helper: { description: "Helps.", prompt: "You help weavers.", tools: ["Bash"], model: "haiku" },
    },
    mcp_servers: { sums: { command: "sums" }, web: { command: "web" }, old: { command: "old" } },
    allowed_tools: ["Bash", "Task", "mcp__sums__env", "mcp__web__weave", "mcp__old__weave"],
    extra_args: { "append-system-prompt": "And you are patient." },
    user: "ada",
  });
  const init = only(frames, "init").data;
  expect(init["plugins"]).toContain("weaving");
  expect(init["plugins"]).not.toContain("unused");
  expect(init["commands"]).toContain("weaving:knot");
  expect(init["mcp_servers"]).toMatchObject(["sums", "web", "old"].map((name) => ({ name, status: "connected" })));
  const [first] = requests("field");
  expect(JSON.stringify(first?.system)).toContain("And you are patient.");
  expect(JSON.stringify(first?.messages)).toContain('{"type":"url","url":"https://images.example.com/loom.png"}');
  const results = JSON.stringify(frames.filter(({ data }) => data.type === "user"));
  for (const word of ["merino", "woven red", "woven green"]) expect(results).toContain(word);
  expect(mcp.calls).toEqual([{ thread: "red" }, { thread: "green" }]);
  expect(new Set(mcp.headers.map((header) => header["x-loom"]))).toEqual(new Set(["seven", "eight"]));
  // The subagent has its own prompt, model and tools, and it did its task.
  const [helper] = requests("field-inner");
  expect(helper?.model).toContain("haiku");
  expect(JSON.stringify(helper?.system)).toContain("You help weavers.");
  expect(helper?.tools?.map(({ name }) => name)).toEqual(["Bash"]);
  expect(resultOf(frames)).toContain("The helper says from the helper.");
  const { body } = await call("GET", "/api/v1/sessions?user=ada");
  expect(body["sessions"]).toMatchObject([{ id: init.session_id, user: "ada" }]);
});

test("a permission prompt tool decides instead of people, and a message larger than max_buffer_size ends the run", async () => {
  const { query, work } = await serving({});
  const judge = await smallMcp("decide", ({ input, tool_name }) =>
    JSON.stringify(
      tool_name === "Bash" ? { behavior: "allow", updatedInput: input } : { behavior: "deny", message: "Only Bash." },
    ),
  );
  const file = join(work, "no.txt");
  const judged = await query({
    prompt: scripted("judged", [
      bash(`touch ${work}/decided`),
      { tools: [{ name: "Write", input: { file_path: file, content: "x" } }] },
      { text: "So: $LAST" },
    ]),
    permission_prompt_tool_name: "mcp__judge__decide",
    mcp_servers: { judge: { type: "http", url: judge.http } },
  });
  expect(judge.calls.map(({ tool_name }) => tool_name)).toEqual(["Bash", "Write"]);
  expect([existsSync(join(work, "decided")), existsSync(file)]).toEqual([true, false]);
  expect(resultOf(judged)).toContain("Only Bash.");
  expect(judged.some(({ event }) => event === "question")).toBe(false);

  const large = await query({
    prompt: scripted("large", [bash("head -c 20000 /dev/zero | tr '\\0' x"), { text: "Never." }]),
    allowed_tools: ["Bash"],
    max_buffer_size: 15_000,
  });
  expect(only(large, "error").data).toMatchObject({ code: "AGENT_ERROR", details: { code: "buffer_exceeded" } });
  expect(only(large, "done").data).toEqual({ reason: "error" });
});

test("images, tools, mode, turns and hooks apply to one run if a resume sets them, and to all runs if a fork sets them", async () => {
  const server = await serving({});
  const { query, requests, work } = server;
  const told: { session_id: string; hook_event: string }[] = [];
  const receiver = createHttpServer((request, response) => {
    let body = "";
    request.on("data", (bytes: Buffer) => (body += bytes.toString()));
    request.on("end", () => {
      told.push(JSON.parse(body));
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => void receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const first = await query({ prompt: scripted("changes", [{ text: "Hi." }]), cwd: work });
  const id = only(first, "init").data.session_id;
  for (const kind of ["resume", "fork"]) {
    const file = join(work, kind);
    const label = `changes-${kind}`;
    const frames = await all(server, `/api/v1/sessions/${id}/${kind}`, {
      prompt: scripted(label, [bash(`touch ${file}`), bash("echo again"), { text: "Never." }]),
      images: [{ media_type: "image/png", data: PNG }],
      allowed_tools: ["Bash"],
      disallowed_tools: ["WebFetch"],
      permission_mode: "acceptEdits",
      max_turns: 1,
      hooks: { PreToolUse: { url, matcher: "Bash" } },
    });
    const { session_id, ...init } = only(frames, "init").data;
    expect(init["tools"]).not.toContain("WebFetch");
    expect(init["permission_mode"]).toBe("acceptEdits");
    expect(JSON.stringify(requests(label)[0]?.messages)).toContain(PNG);
    expect(existsSync(file)).toBe(true);
    expect(only(frames, "result").data["stop_reason"]).toBe("max_turns_reached");
    expect(told.filter((one) => one.session_id === session_id)).toMatchObject([{ hook_event: "PreToolUse" }]);
    expect(session_id === id).toBe(kind === "resume");

    const next = await open(server, `/api/v1/sessions/${session_id}/resume`, {
      prompt: scripted(`${label}-next`, [bash(`touch ${file}-next`), { text: "Done." }]),
    });
    const { data } = await next.until(({ event }) => event === "init");
    expect(data["permission_mode"]).toBe(kind === "resume" ? "default" : "acceptEdits");
    // The resumed session has no allowed tools, so a person is asked. The fork has allowed tools.
    const end = await next.until(({ event }) => event === "question" || event === "result");
    expect(end.event).toBe(kind === "resume" ? "question" : "result");
    if (kind === "resume") await server.call("POST", `/api/v1/sessions/${session_id}/interrupt`);
    await next.end();
    expect(existsSync(`${file}-next`)).toBe(kind === "fork");
  }
});

test("a token of the operator or of a subscription is sent as a bearer token, without an API key", async () => {
  const heard: IncomingHttpHeaders[] = [];
  // The simulator does not record credentials, so this gateway records the headers of each call. It rejects every call.
  const gateway = createHttpServer((request, response) => {
    heard.push(request.headers);
    const error = { type: "permission_error", message: "No." };
    response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify({ type: "error", error }));
  });
  await new Promise<void>((resolve) => void gateway.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void gateway.close());
  const anthropicBaseUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  const tokens = { anthropicApiKey: undefined, anthropicAuthToken: "gateway-token-1234", anthropicBaseUrl };
  for (const more of [{}, { claudeOauthToken: "sk-ant-oat01-subscription" }]) {
    const { query } = await serving({ ...tokens, ...more });
    expect(only(await query({ prompt: "Hi." }), "error").data["code"]).toBe("AGENT_ERROR");
    const sent = heard.splice(0).filter((headers) => headers["x-claude-code-session-id"] !== undefined);
    const token = "claudeOauthToken" in more ? more.claudeOauthToken : tokens.anthropicAuthToken;
    expect(new Set(sent.map(({ authorization }) => authorization))).toEqual(new Set([`Bearer ${token}`]));
    expect(sent.every((headers) => headers["x-api-key"] === undefined)).toBe(true);
  }
});

test("runs wait if the number of processes is limited, and idle processes end above the memory limit", async () => {
  const server = await serving({ claude: { processes: { running: 1, idle: 4, ahead: 0, memoryMb: 256 } } });
  const { call, url, key } = server;
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${url}/metrics`, { headers: { "x-api-key": key } })).text();
    return Number(
      text
        .split("\n")
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1),
    );
  };
  const first = await open(server, "/api/v1/query", { prompt: scripted("slots", [{ hang: true }]) });
  const { data } = await first.until(({ event }) => event === "init");
  const second = server.query({ prompt: scripted("slots-2", [{ text: "At last." }]) });
  await expect.poll(() => metric("skein_claude_runs_waiting")).toBe(1);
  expect(await metric('skein_claude_processes{state="running"}')).toBe(1);
  expect(await metric("skein_claude_memory_bytes")).toBeGreaterThan(50_000_000);
  expect(await metric("skein_claude_memory_limit_bytes")).toBe(256 * 1024 * 1024);
  await call("POST", `/api/v1/sessions/${data.session_id}/interrupt`);
  await first.end();
  expect(resultOf(await second)).toBe("At last.");
  // Four processes may be idle, but two of them already take more than 256 MB.
  const idle = (): Promise<number> => metric('skein_claude_processes{state="idle"}');
  await expect.poll(idle).toBeLessThan(2);
  await expect.poll(async () => (await metric("skein_claude_memory_bytes")) < 256 * 1024 * 1024).toBe(true);
  expect(await metric("skein_claude_runs_waiting")).toBe(0);
});

test.skipIf(!hasBubblewrap || !existsSync("/usr/bin/socat"))(
  "a sandbox without network access cannot connect to the host, and outside its folder it writes only to allowed paths",
  async () => {
    const { query, work } = await serving({});
    let connections = 0;
    const listener = createServer((socket) => {
      connections += 1;
      socket.end();
    });
    await new Promise<void>((resolve) => void listener.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void listener.close());
    const { port } = listener.address() as AddressInfo;
    const [cwd, opened, closed] = ["cwd", "opened", "closed"].map((name) => join(work, name)) as [
      string,
      string,
      string,
    ];
    for (const folder of [cwd, opened, closed]) mkdirSync(folder);
    const attempt = [
      `(echo hi > /dev/tcp/127.0.0.1/${port}) && echo CONNECTED || echo REFUSED`,
      `touch ${opened}/in; touch ${closed}/out; true`,
    ].join("; ");
    const body = { cwd, allowed_tools: ["Bash"] };
    const boxed = await query({
      ...body,
      prompt: scripted("boxed", [bash(attempt), { text: "$LAST" }]),
      sandbox: { allowed_paths: [opened], network_access: false },
    });
    expect(resultOf(boxed)).toContain("REFUSED");
    expect([connections, existsSync(join(opened, "in")), existsSync(join(closed, "out"))]).toEqual([0, true, false]);
    const free = await query({ ...body, prompt: scripted("free", [bash(attempt), { text: "$LAST" }]) });
    expect(resultOf(free)).toContain("CONNECTED");
    expect([connections, existsSync(join(closed, "out"))]).toEqual([1, true]);
  },
);
