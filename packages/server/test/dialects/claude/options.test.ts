import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ROUTES } from "@skein/protocol";
import { openStore } from "../../../../skein/src/open-store.ts";
import { folder, scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { type Frame, all, only } from "./world.ts";

/** Options of a query. An allowed option reaches Claude Code. Any other option is rejected before a process starts. */

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const MCP = fileURLToPath(new URL("../../../../adapters/test/mcp-server.ts", import.meta.url));

let server: ClaudeServer;
let other: string;
/** A session without options. */
let plainId: string;
beforeAll(async () => {
  server = await claudeServer({
    allowedWebhookAddresses: ["127.0.0.1"],
    claude: {
      env: ["LOOM"],
      extraArgs: ["debug-to-stderr"],
      settings: { team: { outputStyle: "Explanatory" } },
      mcpServers: { sums: { command: process.execPath, args: ["--conditions=@skein/source", MCP], env: {} } },
    },
  });
  other = join(server.work, "other");
  mkdirSync(other);
  mkdirSync(join(server.work, "project"));
});
afterAll(() => server.close());

const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
const query = (body: Record<string, unknown>): Promise<readonly Frame[]> => all(server, "/api/v1/query", body);
const resultOf = (frames: readonly Frame[]): string => String(only(frames, "result").data["result"]);
const systemOf = (label: string): string => JSON.stringify(server.requests(label)[0]?.system);

test("model, prompts, images, tools, folders and variables reach Claude Code", async () => {
  const file = join(other, "note.txt");
  const prompt = scripted("options", [
    { tools: [{ name: "Bash", input: { command: "pwd; echo loom-$LOOM" } }] },
    { tools: [{ name: "Write", input: { file_path: file, content: "n" } }] },
    { text: "End." },
  ]);
  const frames = await query({
    prompt,
    images: [{ media_type: "image/png", data: PNG }],
    model: "claude-haiku-5-5",
    system_prompt: "You are a loom.",
    allowed_tools: ["Bash"],
    disallowed_tools: ["WebSearch"],
    permission_mode: "acceptEdits",
    cwd: join(server.work, "project"),
    add_dirs: [other],
    env: { LOOM: "seven" },
    extra_args: { "debug-to-stderr": null },
    max_buffer_size: 10_000_000,
  });
  const [sent] = server.requests("options");
  expect(sent?.model).toBe("claude-haiku-5-5");
  expect(systemOf("options")).toContain("You are a loom.");
  expect(JSON.stringify(sent?.messages)).toContain(PNG.slice(0, 40));
  expect(only(frames, "init").data["tools"]).not.toContain("WebSearch");
  const results = JSON.stringify(frames.filter(({ data }) => data.type === "user"));
  expect(results).toContain(`${join(server.work, "project")}\\\\nloom-seven`.replace("\\\\n", "\\n"));
  // An edit inside `add_dirs` needs no permission.
  expect(frames.some(({ event }) => event === "question")).toBe(false);
  expect(readFileSync(file, "utf8")).toBe("n");
  // The log does not contain the value of the environment variable.
  const id = only(frames, "init").data.session_id;
  const log = JSON.stringify((await server.call("GET", `/v1/sessions/${id}/events?limit=1000`)).body);
  expect(log.replaceAll("loom-seven", "")).not.toContain("seven");
  expect((await server.call("GET", `/api/v1/sessions/${id}`)).body).toMatchObject({
    working_directory: join(server.work, "project"),
  });
});

test("system_prompt_append keeps Claude Code's prompt, and requests may name settings and output styles", async () => {
  await query({ prompt: scripted("append", [{ text: "Hi." }]), system_prompt_append: "Mind the yarn." });
  expect(systemOf("append")).toMatch(/Claude Code.*Mind the yarn\./s);
  const styled = await query({ prompt: scripted("styled", [{ text: "Hi." }]), settings: "team" });
  expect(only(styled, "init").data["output_style"]).toBe("Explanatory");
  const named = await query({ prompt: scripted("named", [{ text: "Hi." }]), output_style: "Learning" });
  expect(only(named, "init").data["output_style"]).toBe("Learning");
  const unknown = await query({ prompt: scripted("unknown-style", [{ text: "Never." }]), output_style: "Baroque" });
  expect(unknown.map(({ event }) => event)).toEqual(["init", "message", "result", "error", "done"]);
  expect(only(unknown, "error").data["message"]).toMatch(
    /^output_style: There is no output style "Baroque"\. There are: default, .*Learning/,
  );
  expect(server.requests("unknown-style")).toEqual([]);
});

test("a session has Claude Code's prompt unless its request, a resume or a fork sets another prompt", async () => {
  const plain = await query({ prompt: scripted("own-prompt", [{ text: "Hi." }]) });
  const id = only(plain, "init").data.session_id;
  plainId = id;
  // The SDK's short prompt also names Claude Code, so the length tells the two prompts apart.
  expect(systemOf("own-prompt").length).toBeGreaterThan(2000);
  expect(JSON.stringify(server.requests("own-prompt")[0])).toContain("dataviz");
  const words = { system_prompt: "You are a loom.", system_prompt_append: "Mind the yarn." };
  await query({ prompt: scripted("both-prompts", [{ text: "Hi." }]), session_id: id, ...words });
  expect(systemOf("both-prompts")).toMatch(/You are a loom\..*Mind the yarn\./);
  expect(systemOf("both-prompts").length).toBeLessThan(2000);
  const path = `/api/v1/sessions/${id}`;
  const fork = await all(server, `${path}/fork`, {
    prompt: scripted("fork-prompt", [{ text: "Hi." }]),
    system_prompt_append: "Count the threads.",
  });
  const next = { prompt: scripted("fork-prompt-2", [{ text: "Hi." }]) };
  await all(server, `/api/v1/sessions/${only(fork, "init").data.session_id}/resume`, next);
  for (const label of ["fork-prompt", "fork-prompt-2"]) {
    expect(systemOf(label)).toContain("Count the threads.");
    expect(systemOf(label).length).toBeGreaterThan(2000);
  }
  await all(server, `${path}/resume`, { prompt: scripted("own-prompt-2", [{ text: "Hi." }]) });
  expect(systemOf("own-prompt-2")).not.toMatch(/loom|threads/);
  expect(systemOf("own-prompt-2").length).toBeGreaterThan(2000);
});

test("effort, thinking, betas, skills, a fallback model and a budget reach the run", async () => {
  const busy = { status: 529, type: "overloaded_error", message: "Busy.", times: 3, headers: { "retry-after": "0" } };
  const frames = await query({
    prompt: scripted("newer", [{ error: busy, ...bash("echo x") }, { text: "Never." }]),
    // Older models get a thinking budget, newer models get an effort.
    model: "claude-sonnet-4-5",
    allowed_tools: ["Bash"],
    effort: "low",
    thinking: { type: "enabled", budget_tokens: 2048 },
    betas: ["context-1m-2025-08-07"],
    fallback_model: "claude-haiku-5-5",
    skills: [],
    max_budget_usd: 0.000001,
  });
  const calls = server.simulator.ledger.calls({ label: "newer" });
  expect(calls[0]?.request).toMatchObject({ thinking: { type: "enabled", budget_tokens: 2048 } });
  expect(calls[3]?.request).toMatchObject({ output_config: { effort: "low" } });
  expect(calls[0]?.headers["anthropic-beta"]).toContain("context-1m-2025-08-07");
  const models = calls.map(({ request }) => (request as { model: string }).model);
  expect(models).toEqual(["claude-sonnet-4-5", "claude-sonnet-4-5", "claude-sonnet-4-5", "claude-haiku-5-5"]);
  // The skill `dataviz` is part of Claude Code. The model is told about it unless the request leaves it out.
  expect(JSON.stringify(calls[0]?.request)).not.toContain("dataviz");
  expect(only(frames, "error").data).toMatchObject({
    message: expect.stringMatching(/^The run has a budget of \$0\.000001, and /),
    details: { code: "budget_exceeded" },
  });
});

test.each(["sonnet[1m]", "opusplan", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5@20250929"])(
  "%s is accepted as a model",
  async (model) => {
    const label = `model-${model.replaceAll(/\W/g, "-")}`;
    const frames = await all(server, `/api/v1/sessions/${plainId}/resume`, {
      prompt: scripted(label, [{ text: "Hi." }]),
      model,
    });
    const own = { "sonnet[1m]": "claude-sonnet-5-5", opusplan: "claude-sonnet-5-5" }[model] ?? model;
    expect(server.requests(label)[0]?.model).toBe(own);
    expect(only(frames, "result").data["result"]).toBe("Hi.");
  },
);

test("settings of a project are used only if they are requested", async () => {
  const project = join(server.work, "with-settings");
  mkdirSync(project);
  writeFileSync(join(project, "CLAUDE.md"), "The password is swordfish.\n");
  await query({ prompt: scripted("without-sources", [{ text: "Hi." }]), cwd: project });
  await query({ prompt: scripted("with-sources", [{ text: "Hi." }]), cwd: project, setting_sources: ["project"] });
  const sent = (label: string): string => JSON.stringify(server.requests(label)[0]);
  expect(sent("without-sources")).not.toContain("swordfish");
  expect(sent("with-sources")).toContain("swordfish");
});

test("an MCP server of the operator can be named, its tools run, and a dead server is shown as failed", async () => {
  const prompt = scripted("mcp", [
    { tools: [{ name: "mcp__sums__add", input: { a: 40, b: 2 } }] },
    { text: "It is $LAST." },
  ]);
  const frames = await query({
    prompt,
    allowed_tools: ["mcp__sums__add"],
    mcp_servers: { sums: { command: "sums" }, dead: { type: "http", url: "http://127.0.0.1:9/mcp" } },
  });
  expect(resultOf(frames)).toContain("42");
  const servers = only(frames, "init").data["mcp_servers"] as { name: string; status: string; error?: string }[];
  expect(servers.find(({ name }) => name === "sums")).toMatchObject({ status: "connected" });
  expect(servers.find(({ name }) => name === "dead")).toMatchObject({
    status: "failed",
    error: expect.stringMatching(/^The MCP server dead failed: .*(connect|refused|fetch)/i),
  });
});

test("before a run, GET /api/v1/offer lists what a session would have, and the names that requests may use", async () => {
  const project = join(server.work, "offering");
  mkdirSync(join(project, ".claude/commands"), { recursive: true });
  mkdirSync(join(project, ".claude/skills/darn"), { recursive: true });
  writeFileSync(join(project, ".claude/commands/knot.md"), "---\ndescription: Ties a knot\n---\nTie a knot.");
  writeFileSync(
    join(project, ".claude/skills/darn/SKILL.md"),
    "---\nname: darn\ndescription: Mends socks\n---\nMend it.",
  );
  const asked = `/api/v1/offer?cwd=${encodeURIComponent(project)}&setting_sources=project&mcp_servers=sums`;
  const before = server.simulator.ledger.calls().length;
  const started = performance.now();
  const answer = await server.call("GET", asked);
  const withProcess = performance.now() - started;
  expect(answer.body.error).toBeUndefined();
  const offer = ROUTES.claudeOffer.response.parse(answer.body);
  expect(offer.models.map(({ name }) => name)).toContain("sonnet");
  expect(offer.default_model).toBe("claude-sonnet-5-5");
  for (const tool of ["Bash", "AskUserQuestion", "mcp__sums__add"]) expect(offer.tools).toContain(tool);
  expect(offer.commands).toContainEqual(expect.objectContaining({ name: "knot" }));
  expect(offer.agents.map(({ name }) => name)).toContain("general-purpose");
  expect(offer.skills).toContain("darn");
  expect(offer.mcp_servers).toMatchObject([{ name: "sums", status: "connected" }]);
  expect(offer.output_styles).toContain("Learning");
  expect(offer.opened).toMatchObject({
    settings: ["team"],
    mcp_servers: ["sums"],
    env: ["LOOM"],
    permission_modes: expect.not.arrayContaining(["bypassPermissions"]),
  });
  // The request called no model and stored nothing. Within a minute a second request starts no process.
  expect(server.simulator.ledger.calls().length).toBe(before);
  expect((await server.call("GET", "/api/v1/sessions?page_size=100")).body["sessions"]).not.toContainEqual(
    expect.objectContaining({ working_directory: project }),
  );
  const again = performance.now();
  expect((await server.call("GET", asked)).body).toEqual(answer.body);
  expect(performance.now() - again).toBeLessThan(withProcess / 3);
  expect((await server.call("GET", "/api/v1/offer?cwd=/etc")).status).toBe(403);
});

test("a request for an offer leaves no record and no folder, also if the offer is from the cache", async () => {
  const storeUrl = `sqlite:${join(folder(), "skein.db")}`;
  const own = await claudeServer({ storeUrl });
  onTestFinished(() => own.close());
  for (let asked = 0; asked < 2; asked += 1) expect((await own.call("GET", "/api/v1/offer")).status).toBe(200);
  const folders = ["work", "config"].flatMap((name) => readdirSync(join(own.data, "claude", "default", name)));
  const store = await openStore(storeUrl);
  const records = await store.records.list({ tenant: "default", kind: "claude_session" });
  await store.close();
  // All sessions share the folder for temporary files.
  expect([...folders, ...records.items]).toEqual(["tmp"]);
});

test("continue_conversation continues the last session of the folder", async () => {
  const [here, there] = ["here", "there"].map((name) => join(server.work, name)) as [string, string];
  for (const folder of [here, there]) mkdirSync(folder);
  const id = only(await query({ prompt: scripted("here", [{ text: "Here." }]), cwd: here }), "init").data.session_id;
  await query({ prompt: scripted("there", [{ text: "There." }]), cwd: there });
  const on = await query({ prompt: scripted("here-2", [{ text: "On." }]), cwd: here, continue_conversation: true });
  expect(only(on, "init").data.session_id).toBe(id);
  // A folder without a session gets its first session.
  const empty = join(server.work, "empty");
  mkdirSync(empty);
  const first = await query({ prompt: scripted("empty", [{ text: "New." }]), cwd: empty, continue_conversation: true });
  expect((await server.call("GET", `/api/v1/sessions/${only(first, "init").data.session_id}`)).body).toMatchObject({
    total_turns: 1,
    working_directory: empty,
  });
});

test("output_format of the type json accepts any JSON object", async () => {
  const answer = { tools: [{ name: "StructuredOutput", input: { anything: [1, 2] } }] };
  const frames = await query({
    prompt: scripted("json", [answer, { text: "Done." }]),
    output_format: { type: "json" },
  });
  expect(only(frames, "result").data["structured_output"]).toEqual({ anything: [1, 2] });
});

test("a fork may change options of its session, and inherits the others", async () => {
  const project = join(server.work, "project");
  const first = await query({
    prompt: scripted("inherit", [{ text: "Hi." }]),
    cwd: project,
    env: { LOOM: "nine" },
    allowed_tools: ["Bash"],
    system_prompt: "You are a loom.",
  });
  const path = `/api/v1/sessions/${only(first, "init").data.session_id}`;
  const bash = { tools: [{ name: "Bash", input: { command: "echo loom-$LOOM" } }] };
  const fork = await all(server, `${path}/fork`, {
    prompt: scripted("inherit-2", [bash, { text: "Got $LAST." }]),
    model: "claude-opus-5-5",
  });
  expect(resultOf(fork)).toBe("Got loom-nine.");
  expect(server.requests("inherit-2")[0]?.model).toBe("claude-opus-5-5");
  expect(systemOf("inherit-2")).toContain("You are a loom.");
  const resumed = await all(server, `${path}/resume`, {
    prompt: scripted("inherit-3", [bash, { text: "Got $LAST." }]),
    disallowed_tools: ["WebFetch"],
  });
  expect(resultOf(resumed)).toBe("Got loom-nine.");
  expect(only(resumed, "init").data["tools"]).not.toContain("WebFetch");
});

const closed: readonly [why: string, body: Record<string, unknown>, status: number, code: string][] = [
  ["a session id that is a flag", { session_id: "--settings={}" }, 422, "VALIDATION_ERROR"],
  [
    "extra_args that the operator did not allow",
    { extra_args: { "dangerously-skip-permissions": null } },
    403,
    "arg_not_allowed",
  ],
  ["a variable that the operator did not allow", { env: { LD_PRELOAD: "/x.so" } }, 403, "not_allowed"],
  ["a folder outside the roots", { cwd: "/etc" }, 403, "not_allowed"],
  ["a folder outside the roots, written with ..", { cwd: "/etc/../etc" }, 403, "not_allowed"],
  ["an additional folder outside the roots", { add_dirs: ["/"] }, 403, "not_allowed"],
  ["settings that nobody registered", { settings: "/etc/passwd" }, 403, "not_allowed"],
  ["a plugin that nobody registered", { plugins: [{ name: "x", path: "/tmp/evil" }] }, 403, "not_allowed"],
  [
    "an MCP server started by a command",
    { mcp_servers: { x: { command: "sh", args: ["-c", "id"] } } },
    403,
    "not_allowed",
  ],
  ["bypassPermissions", { permission_mode: "bypassPermissions" }, 403, "not_allowed"],
  ["two tools in one entry", { allowed_tools: ["Read,Bash"] }, 422, "VALIDATION_ERROR"],
  [
    "a subagent with the Task tool",
    { agents: { a: { description: "d", prompt: "p", tools: ["Task"] } } },
    422,
    "VALIDATION_ERROR",
  ],
  ["a hook at an address of this network", { hooks: { Stop: { url: "http://10.0.0.1/h" } } }, 422, "url_not_allowed"],
  [
    "a pattern that could take for ever",
    { hooks: { Stop: { url: "https://example.com", matcher: "(?=x)" } } },
    422,
    "VALIDATION_ERROR",
  ],
  [
    "an image from an address in this network",
    { images: [{ type: "url", media_type: "image/png", data: "http://169.254.169.254/x" }] },
    422,
    "url_not_allowed",
  ],
];

test.each([
  ["is no image", { media_type: "image/png", data: "AAAA" }, "The data is not a PNG, JPEG, GIF or WebP image."],
  [
    "is of another type",
    { media_type: "image/gif", data: PNG },
    "The data is image/png, but media_type says image/gif.",
  ],
  [
    "is cut off",
    { media_type: "image/png", data: PNG.slice(0, 48) },
    "The image/png is incomplete: its end is missing.",
  ],
])("an image that %s is rejected with its index in the error", async (_, image, sentence) => {
  const url = { type: "url", media_type: "image/png", data: "https://images.example.com/loom.png" };
  const answer = await server.call("POST", "/api/v1/query", { prompt: "Hi.", images: [url, image] });
  expect([answer.status, answer.body.error.code]).toEqual([422, "VALIDATION_ERROR"]);
  expect(answer.body.error.message).toContain(`images.1.data: ${sentence}`);
});

test.each(closed)("a query with %s is rejected before anything is started", async (_, body, status, code) => {
  const before = (await server.call("GET", "/api/v1/sessions")).body["total"];
  const answer = await server.call("POST", "/api/v1/query", { prompt: "Hi.", ...body });
  expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  expect((await server.call("GET", "/api/v1/sessions")).body["total"]).toBe(before);
});

test("an agent made over /v1 has no more rights than a request, and its sessions run", async () => {
  const make = (extras: unknown) =>
    server.call("POST", "/v1/agents", {
      name: "Weaver",
      runtime: "claude-code",
      model: "claude-haiku-5-5",
      system_prompt: "You weave.",
      extras,
    });
  const evil = await make({ claude: { extra_args: { settings: "/x" } } });
  expect([evil.status, evil.body.error.code]).toEqual([403, "arg_not_allowed"]);
  expect((await make({ claude: { env: { LOOM: "x" } } })).status).toBe(422);
  const agent = await make({ claude: { allowed_tools: ["Bash"], cwd: join(server.work, "project") } });
  expect(agent.status).toBe(201);
  const session = await server.call("POST", "/v1/sessions", { agent_id: agent.body.id });
  const text = scripted("agent", [{ tools: [{ name: "Bash", input: { command: "pwd" } }] }, { text: "In $LAST." }]);
  await server.call("POST", `/v1/sessions/${session.body.id}/messages`, { role: "user", content: { text } });
  const frames = await all(server, `/api/v1/sessions/${session.body.id}/stream`);
  expect(resultOf(frames)).toBe(`In ${join(server.work, "project")}.`);
  expect(server.requests("agent")[0]?.model).toBe("claude-haiku-5-5");
  expect(systemOf("agent")).toContain("You weave.");
});

test("an agent of Claude Code with an output_schema completes with the JSON, and fails with plain text", async () => {
  const output_schema = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
  const config = { name: "Counter", runtime: "claude-code", output_schema };
  const agent = await server.call("POST", "/v1/agents", config);
  const outcome = async (label: string, steps: Parameters<typeof scripted>[1]) => {
    const session = await server.call("POST", "/v1/sessions", { agent_id: agent.body.id });
    const path = `/v1/sessions/${session.body.id}`;
    await server.call("POST", `${path}/messages`, { role: "user", content: { text: scripted(label, steps) } });
    await all(server, `/api/v1/sessions/${session.body.id}/stream`);
    return (await server.call("GET", `${path}/runs`)).body.data[0];
  };
  const answer = (input: Record<string, unknown>) => ({ tools: [{ name: "StructuredOutput", input }] });
  expect(await outcome("typed", [answer({ total: 5 }), { text: "Done." }])).toMatchObject({
    outcome: "completed",
    final_response: '{"total":5}',
  });
  expect(await outcome("untyped", [{ text: "It is five." }])).toMatchObject({ outcome: "failed" });
});
