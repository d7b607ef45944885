/** Checks the options of a session by the requests to the model and by files on disk. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { Event, JsonObject } from "@skein/protocol";
import { hasBubblewrap } from "../../../sql/test/bubblewrap.ts";
import { smallMcp } from "./small-mcp.ts";
import { claudeAgent, createWorld, folder, only, play, until } from "./world.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const bash = (command: string) => ({ name: "Bash", input: { command } });
const said = (events: readonly Event[]): string | undefined =>
  only(events, "session.completed")[0]?.data.final_response;
const started = (events: readonly Event[]): JsonObject => only(events, "runtime.started")[0]?.data.info ?? {};
const toolsIn = (request: JsonObject | undefined): string[] =>
  ((request?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name);

test("model, system prompt, tools, folders, environment, images and extra arguments reach Claude Code", async () => {
  const world = await createWorld();
  const [cwd, more] = [folder(), folder()];
  writeFileSync(join(more, "note.txt"), "from another folder");
  const { events } = await world.run(
    [
      {
        type: "text",
        text: play(
          { tools: [bash("pwd > where; echo $COLOUR > colour")] },
          { tools: [{ name: "Read", input: { file_path: join(more, "note.txt") } }] },
          { text: "Read: $LAST" },
        ),
      },
      { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
    ],
    {
      cwd,
      add_dirs: [more],
      model: "haiku",
      system_prompt: "You are a weaver.",
      allowed_tools: ["Bash"],
      disallowed_tools: ["WebFetch", "Write"],
      env: { COLOUR: "blue" },
      extra_args: { "append-system-prompt": "And you are patient." },
      user: "somebody",
    },
  );
  expect(said(events)).toContain("from another folder");
  expect(readFileSync(join(cwd, "where"), "utf8").trim()).toBe(cwd);
  expect(readFileSync(join(cwd, "colour"), "utf8").trim()).toBe("blue");
  const [request] = world.requests();
  expect(request?.["model"]).toBe("claude-haiku-5-5");
  const system = JSON.stringify(request?.["system"]);
  expect(system).toContain("You are a weaver.");
  expect(system).toContain("And you are patient.");
  expect(toolsIn(request)).toContain("Bash");
  expect(toolsIn(request)).not.toContain("Write");
  expect(JSON.stringify(request?.["messages"])).toContain('"media_type":"image/png"');
  expect(started(events)).toMatchObject({ cwd, model: "claude-haiku-5-5", permissionMode: "default" });
}, 120_000);

test("project files and output styles are loaded only with setting sources, but an appended prompt, a settings file and plugins need none", async () => {
  const world = await createWorld();
  const cwd = folder();
  mkdirSync(join(cwd, ".claude/output-styles"), { recursive: true });
  writeFileSync(join(cwd, "CLAUDE.md"), "The yarn is always blue.");
  writeFileSync(
    join(cwd, ".claude/output-styles/terse.md"),
    "---\nname: terse\ndescription: Short.\n---\nSpeak in one word.",
  );
  writeFileSync(join(cwd, ".claude/settings.json"), JSON.stringify({ env: { PLANTED: "yes" } }));
  const plugin = folder();
  mkdirSync(join(plugin, ".claude-plugin"));
  mkdirSync(join(plugin, "commands"));
  writeFileSync(join(plugin, ".claude-plugin/plugin.json"), JSON.stringify({ name: "weaving", version: "1.0.0" }));
  writeFileSync(join(plugin, "commands/knot.md"), "Tie a knot.");
  const settings = join(folder(), "settings.json");
  writeFileSync(settings, JSON.stringify({ permissions: { deny: ["Bash(rm *)"] } }));

  const closed = await world.run(play({ tools: [bash("echo $PLANTED > planted-closed")] }, { text: "Ok." }), {
    cwd,
    allowed_tools: ["Bash"],
    system_prompt_append: "Mind the loom.",
    settings,
    plugins: [
      { name: "weaving", path: plugin },
      { name: "off", path: "/nowhere", enabled: false },
    ],
  });
  expect(readFileSync(join(cwd, "planted-closed"), "utf8").trim()).toBe("");
  const [first] = world.requests();
  expect(JSON.stringify(first)).not.toContain("The yarn is always blue.");
  expect(JSON.stringify(first?.["system"])).toContain("Mind the loom.");
  expect(JSON.stringify(first?.["system"])).toContain("Claude Code");
  const plugins = started(closed.events)["plugins"] as { name: string; path: string }[];
  expect(plugins.filter(({ path }) => path !== "builtin")).toMatchObject([{ name: "weaving", path: plugin }]);
  expect(started(closed.events)["slash_commands"]).toContain("weaving:knot");
  const denied = await world.again(closed.sessionId, play({ tools: [bash("rm planted-closed")] }, { text: "Done." }));
  expect(only(denied, "tool.completed")[0]?.data.is_error).toBe(true);
  expect(existsSync(join(cwd, "planted-closed"))).toBe(true);

  const open = await world.run(play({ tools: [bash("echo $PLANTED > planted-open")] }, { text: "Ok." }), {
    cwd,
    allowed_tools: ["Bash"],
    setting_sources: ["project"],
    output_style: "terse",
  });
  expect(readFileSync(join(cwd, "planted-open"), "utf8").trim()).toBe("yes");
  const asked = JSON.stringify(world.requests().at(-1));
  expect(asked).toContain("The yarn is always blue.");
  expect(asked).toContain("Speak in one word.");
  expect(started(open.events)["output_style"]).toBe("terse");
}, 120_000);

test("MCP servers over stdio, HTTP and SSE are connected, with their environment and headers", async () => {
  const world = await createWorld();
  const mcp = await smallMcp("weave", ({ thread }) => `woven ${String(thread)}`);
  const { events } = await world.run(
    play(
      { tools: [{ name: "mcp__local__add", input: { a: 40, b: 2 } }] },
      { tools: [{ name: "mcp__web__weave", input: { thread: "red" } }] },
      { tools: [{ name: "mcp__old__weave", input: { thread: "green" } }] },
      { text: "Done." },
    ),
    {
      allowed_tools: ["mcp__local__add", "mcp__web__weave", "mcp__old__weave"],
      mcp_servers: {
        local: {
          type: "stdio",
          command: process.execPath,
          args: [fileURLToPath(new URL("../mcp-server.ts", import.meta.url))],
          env: { WOOL: "merino" },
        },
        web: { type: "http", url: mcp.http, headers: { "x-loom": "seven" } },
        old: { type: "sse", url: mcp.sse, headers: { "x-loom": "eight" } },
      },
    },
  );
  const results = only(events, "tool.completed").map(({ data }) => JSON.stringify(data.content));
  expect(results[0]).toContain("42");
  expect(results[1]).toContain("woven red");
  expect(results[2]).toContain("woven green");
  expect(new Set(mcp.headers.map((header) => header["x-loom"]))).toEqual(new Set(["seven", "eight"]));
  expect(started(events)["mcp_servers"]).toMatchObject(
    ["local", "web", "old"].map((name) => ({ name, status: "connected" })),
  );
}, 120_000);

test("permission modes accept or reject edits, and can be set for a run or changed during it", async () => {
  // As root, Claude Code needs this variable to accept the mode `bypassPermissions`.
  const world = await createWorld({ environment: { IS_SANDBOX: "1" } });
  const write = (name: string) => ({ name: "Write", input: { file_path: join(world.cwd, name), content: "x" } });
  const { sessionId, events } = await world.run(play({ tools: [write("accepted")] }, { text: "Ok." }), {
    permission_mode: "acceptEdits",
  });
  expect(existsSync(join(world.cwd, "accepted"))).toBe(true);
  expect(started(events)["permissionMode"]).toBe("acceptEdits");

  const refused = await world.again(sessionId, play({ tools: [bash("touch refused")] }, { text: "Ok." }), {
    permission_mode: "dontAsk",
  });
  expect(only(refused, "tool.completed")[0]?.data.is_error).toBe(true);
  expect(only(refused, "await.opened")).toEqual([]);
  expect(existsSync(join(world.cwd, "refused"))).toBe(false);
  expect(only(refused, "session.completed")[0]?.data.result?.["permission_denials"]).toHaveLength(1);

  // After the run, the mode of the session applies again.
  await world.again(sessionId, play({ tools: [write("again")] }, { text: "Ok." }));
  expect(existsSync(join(world.cwd, "again"))).toBe(true);

  await world.again(sessionId, play({ tools: [bash("touch bypassed")] }, { text: "Ok." }), {
    permission_mode: "bypassPermissions",
  });
  expect(existsSync(join(world.cwd, "bypassed"))).toBe(true);

  const asked = await world.sessions.prompt(sessionId, {
    content: play({ tools: [bash("touch one")] }, { tools: [write("two")] }, { text: "On $MODEL." }),
    options: { permission_mode: "default" },
  });
  const waiting = await until(async () => (await world.store.awaits(sessionId))[0]);
  await world.sessions.control(sessionId, { permissionMode: "acceptEdits", model: "haiku" });
  await world.sessions.answer(sessionId, waiting.tool_use_id, { content: "allow" });
  const controlled = await world.ended(sessionId, asked.runId);
  expect(existsSync(join(world.cwd, "two"))).toBe(true);
  expect(said(controlled)).toBe("On claude-haiku-5-5.");
}, 120_000);

test("a permission prompt tool decides instead of people", async () => {
  const world = await createWorld();
  const mcp = await smallMcp("decide", ({ input, tool_name }) =>
    JSON.stringify(
      tool_name === "Bash"
        ? { behavior: "allow", updatedInput: input }
        : { behavior: "deny", message: "Only Bash, please." },
    ),
  );
  const file = join(world.cwd, "no.txt");
  const { events } = await world.run(
    play(
      { tools: [bash("touch decided")] },
      { tools: [{ name: "Write", input: { file_path: file, content: "x" } }] },
      { text: "Ok." },
    ),
    {
      permission_prompt_tool_name: "mcp__judge__decide",
      mcp_servers: { judge: { type: "http", url: mcp.http } },
    },
  );
  expect(mcp.calls.map(({ tool_name }) => tool_name)).toEqual(["Bash", "Write"]);
  expect(existsSync(join(world.cwd, "decided"))).toBe(true);
  expect(existsSync(file)).toBe(false);
  expect(JSON.stringify(only(events, "tool.completed")[1]?.data.content)).toContain("Only Bash, please.");
  expect(only(events, "await.opened")).toEqual([]);
}, 120_000);

test("structured output fits the schema, or is any JSON object without a schema, and a run without a fitting answer fails", async () => {
  const world = await createWorld();
  const schema = { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] };
  const answer = (input: JsonObject) => ({ tools: [{ name: "StructuredOutput", input }] });
  const good = await world.run(play(answer({ colour: "blue" }), { text: "Done." }), {
    output_format: { type: "json_schema", schema },
  });
  expect(only(good.events, "session.completed")[0]?.data.result?.["structured_output"]).toEqual({ colour: "blue" });
  const bad = await world.again(good.sessionId, play(answer({ colour: 7 })));
  expect(only(bad, "session.failed")[0]?.data).toMatchObject({
    error: { code: "structured_output" },
    result: { subtype: "error_max_structured_output_retries" },
  });
  const any = await world.run(play(answer({ anything: [1, 2] }), { text: "Done." }), {
    output_format: { type: "json" },
  });
  expect(only(any.events, "session.completed")[0]?.data.result?.["structured_output"]).toEqual({ anything: [1, 2] });
}, 120_000);

test("max_turns ends a run, even if only the prompt sets it, and max_buffer_size ends a run with a larger message", async () => {
  const world = await createWorld();
  const endless = play(...Array.from({ length: 5 }, (_, n) => ({ tools: [bash(`echo ${n}`)] })), { text: "At last." });
  const limited = await world.run(endless, { allowed_tools: ["Bash"], max_turns: 2 });
  expect(only(limited.events, "session.failed")[0]?.data).toMatchObject({
    stop_reason: "max_steps",
    error: { code: "max_turns" },
    result: { subtype: "error_max_turns" },
  });
  // The limit is per run, not per process.
  const two = play({ tools: [bash("echo a")] }, { text: "Two turns." });
  for (const again of [two, two]) expect(said(await world.again(limited.sessionId, again))).toBe("Two turns.");
  const longer = await world.again(limited.sessionId, endless, { max_turns: 20 });
  expect(said(longer)).toBe("At last.");

  const large = play({ tools: [bash("head -c 20000 /dev/zero | tr '\\0' x")] }, { text: "Ok." });
  const burst = await world.run(large, { allowed_tools: ["Bash"], max_buffer_size: 60_000 });
  expect(said(burst.events)).toBe("Ok.");
  const over = await world.run(large, { allowed_tools: ["Bash"], max_buffer_size: 15_000 });
  expect(only(over.events, "session.failed")[0]?.data.error.code).toBe("buffer_exceeded");
}, 120_000);

test.skipIf(!hasBubblewrap || !existsSync("/usr/bin/socat"))(
  "a sandbox without network refuses connections, and does not allow writes outside of its paths",
  async () => {
    const world = await createWorld();
    let connections = 0;
    const listener = createServer((socket) => {
      connections += 1;
      socket.end();
    });
    await new Promise<void>((resolve) => void listener.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void listener.close());
    const { port } = listener.address() as AddressInfo;
    const [allowed, outside] = [folder(), folder()];
    const tryAll = [
      `(echo hi > /dev/tcp/127.0.0.1/${port}) && echo CONNECTED || echo REFUSED`,
      `touch ${allowed}/in && echo WROTE-IN; touch ${outside}/out && echo WROTE-OUT; true`,
    ].join("; ");
    const prompt = play({ tools: [bash(tryAll)] }, { text: "$LAST" });
    const byProxy = `curl -s -m 20 --noproxy '' http://127.0.0.1:${port}/ > /dev/null; true`;
    const boxed = await world.run(prompt, { allowed_tools: ["Bash"], sandbox: { allowed_paths: [allowed] } });
    expect(said(boxed.events)).toContain("REFUSED");
    await world.again(boxed.sessionId, play({ tools: [bash(byProxy)] }, { text: "Ok." }));
    expect(connections).toBe(0);
    expect([existsSync(join(allowed, "in")), existsSync(join(outside, "out"))]).toEqual([true, false]);
    const free = await world.run(prompt, { allowed_tools: ["Bash"] });
    expect(said(free.events)).toContain("CONNECTED");
    expect(connections).toBe(1);
    // A sandbox with network access reaches the network through the proxy of Claude Code.
    await world.run(play({ tools: [bash(byProxy)] }, { text: "Ok." }), {
      allowed_tools: ["Bash"],
      sandbox: { network_access: true },
    });
    expect(connections).toBe(existsSync("/usr/bin/curl") ? 2 : 1);
  },
  120_000,
);

test("an option that cannot work ends the run, and the error names the problem", async () => {
  const world = await createWorld();
  const { events } = await world.run(play({ text: "Never." }), { cwd: join(world.cwd, "not-there") });
  expect(only(events, "session.failed")[0]?.data.error.message).toContain("folder");
  const session = await world.sessions.create(claudeAgent({ cwd: world.cwd, permission_mode: "whatever" }));
  const bad = await world.again(session.id, play({ text: "Never." }));
  expect(only(bad, "session.failed")[0]?.data.error.message).toContain("permission_mode");
}, 120_000);
