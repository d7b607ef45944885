import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { HOOK_EVENTS } from "@skein/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scripted } from "../../world.ts";
import { type ClaudeServer, claudeServer } from "./server.ts";
import { type Frame, all, only, open } from "./world.ts";

/** Hooks of a query: the real Claude Code waits for them, and a real receiver decides. */

interface Told {
  readonly hook_event: string;
  readonly session_id: string;
  readonly tool_name?: string;
  readonly tool_input?: Record<string, unknown>;
}

let server: ClaudeServer;
let receiver: Server;
let url: string;
const told: Told[] = [];
const headers: Record<string, unknown>[] = [];
/** The receiver's answers, by command or by name of the event. */
const answers = new Map<string, object>();

beforeAll(async () => {
  server = await claudeServer({ allowedWebhookAddresses: ["127.0.0.1"] });
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (bytes: Buffer) => (body += bytes.toString()));
    request.on("end", () => {
      const one = JSON.parse(body) as Told;
      told.push(one);
      headers.push(request.headers);
      const answer = answers.get(String(one.tool_input?.["command"])) ?? answers.get(one.hook_event);
      response.end(JSON.stringify(answer ?? {}));
    });
  });
  await new Promise<void>((resolve) => void receiver.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
});
afterAll(async () => {
  await server.close();
  receiver.closeAllConnections();
  receiver.close();
});

const bash = (command: string) => ({ tools: [{ name: "Bash", input: { command } }] });
const sessionOf = (frames: readonly Frame[]): string => only(frames, "init").data.session_id;
const resultOf = (frames: readonly Frame[]): string => String(only(frames, "result").data["result"]);
const toldOf = (id: string): readonly Told[] => told.filter(({ session_id }) => session_id === id);
const eventsOf = (id: string): readonly string[] => toldOf(id).map(({ hook_event }) => hook_event);

test("hooks named in CamelCase or snake_case are called in order, with a signature, and are in the log", async () => {
  const inner = scripted("hooked-inner", [{ text: "Inside." }]);
  const task = {
    tools: [{ name: "Task", input: { description: "Look", prompt: inner, subagent_type: "general-purpose" } }],
  };
  const frames = await all(server, "/api/v1/query", {
    prompt: scripted("hooked", [bash("echo one"), task, { text: "End." }]),
    allowed_tools: ["Bash", "Task"],
    hooks: {
      UserPromptSubmit: { url, headers: { "x-loom": "seven" } },
      pre_tool_use: { url, matcher: "Bash|Write" },
      PostToolUse: { url, matcher: "Bash" },
      subagent_stop: { url },
      Stop: { url },
    },
  });
  const id = sessionOf(frames);
  expect(eventsOf(id)).toEqual(["UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStop", "Stop"]);
  const [, before] = toldOf(id);
  expect(before).toMatchObject({ hook_event: "PreToolUse", tool_name: "Bash", tool_input: { command: "echo one" } });
  expect(headers.some((one) => one["x-loom"] === "seven" && typeof one["webhook-signature"] === "string")).toBe(true);
  const { body } = await server.call("GET", `/v1/sessions/${id}/events?limit=1000`);
  const called = body.data.filter(({ event_type }) => event_type === "hook.called");
  expect(called).toHaveLength(5);
  // The log contains neither the address of a hook nor the headers that are sent to it.
  const log = JSON.stringify(body);
  expect(log).not.toContain('/hook"');
  expect(log).not.toContain("seven");
});

test("a hook denies a call or changes its input, and a resume inherits the hook", async () => {
  const file = (name: string): string => join(server.work, name);
  answers.set(`touch ${file("denied")}`, { decision: "deny", reason: "Not on my watch" });
  answers.set(`touch ${file("changed")}`, {
    decision: "allow",
    modified_input: { command: `echo hook > ${file("instead")}` },
  });
  const hooks = { PreToolUse: { url } };
  const denied = await all(server, "/api/v1/query", {
    prompt: scripted("denied", [bash(`touch ${file("denied")}`), { text: "So: $LAST" }]),
    allowed_tools: ["Bash"],
    hooks,
  });
  expect(only(denied, "result").data["result"]).toMatch(/Not on my watch/);
  expect(existsSync(file("denied"))).toBe(false);
  const id = sessionOf(denied);
  await all(server, `/api/v1/sessions/${id}/resume`, {
    prompt: scripted("changed", [bash(`touch ${file("changed")}`), { text: "So." }]),
  });
  expect([existsSync(file("changed")), readFileSync(file("instead"), "utf8")]).toEqual([false, "hook\n"]);
  const { body } = await server.call("GET", `/v1/sessions/${id}/events?limit=1000`);
  const decisions = body.data.filter(({ event_type }) => event_type === "hook.called").map(({ data }) => data);
  expect(decisions).toMatchObject([
    { decision: "deny", reason: "Not on my watch" },
    { decision: "allow", modified_input: { command: `echo hook > ${file("instead")}` } },
  ]);
});

/** The hook events that Claude Code fires without a terminal, a team or a worktree. */
const FIRED = [
  "SessionStart",
  "UserPromptSubmit",
  "UserPromptExpansion",
  "InstructionsLoaded",
  "PreToolUse",
  "PermissionRequest",
  "PostToolUse",
  "PostToolUseFailure",
  "PostToolBatch",
  "SubagentStart",
  "SubagentStop",
  "MessageDisplay",
  "Stop",
  "StopFailure",
  "PreModelSwitch",
  "PostModelSwitch",
  "PreCompact",
  "PostCompact",
  "SessionEnd",
];

test("every event that Claude Code fires calls its hook over HTTP, and the decisions are obeyed", async () => {
  answers.set("PermissionRequest", { decision: "allow" });
  const file = join(server.work, "asked.txt");
  writeFileSync(join(server.work, "CLAUDE.md"), "The yarn is blue.");
  mkdirSync(join(server.work, ".claude/commands"), { recursive: true });
  writeFileSync(join(server.work, ".claude/commands/greet.md"), "Say hello.");
  const inner = scripted("events-inner", [{ text: "Helped." }]);
  const hooks = Object.fromEntries(
    HOOK_EVENTS.filter((event) => !["WorktreeCreate", "Notification"].includes(event)).map((event) => [event, { url }]),
  );
  const frames = await all(server, "/api/v1/query", {
    prompt: scripted("events", [
      bash("exit 3"),
      { tools: [{ name: "Write", input: { file_path: file, content: "yes" } }] },
      { tools: [{ name: "Task", input: { description: "Help", prompt: inner, subagent_type: "helper" } }] },
      { text: "End." },
    ]),
    cwd: server.work,
    setting_sources: ["project"],
    allowed_tools: ["Bash", "Task"],
    agents: { helper: { description: "Helps.", prompt: "Help." } },
    hooks,
  });
  const id = sessionOf(frames);
  // No person was asked, because the hook had allowed the call.
  expect(readFileSync(file, "utf8")).toBe("yes");
  const resume = (prompt: string) => all(server, `/api/v1/sessions/${id}/resume`, { prompt });
  const model = { type: "model_change", model: "claude-haiku-5-5" };
  expect((await server.call("POST", `/api/v1/sessions/${id}/control`, model)).status).toBe(200);
  await resume("/greet");
  await resume("/compact");
  await resume(scripted("events-2", [{ error: { status: 400, type: "invalid_request_error", message: "No." } }]));
  await resume("/clear");
  // Claude Code does not wait for hooks that decide nothing, so these events may arrive after the end of the run.
  await expect.poll(() => FIRED.filter((event) => !eventsOf(id).includes(event))).toEqual([]);
});

test("people are notified that a session waits for them, even if a hook answers `ask`", async () => {
  const file = join(server.work, "told.txt");
  answers.set("touch ask", { decision: "ask" });
  const stream = await open(server, "/api/v1/query", {
    prompt: scripted("told", [
      { tools: [{ name: "Write", input: { file_path: file, content: "x" } }] },
      bash("touch ask"),
      { text: "So: $LAST" },
    ]),
    allowed_tools: ["Bash"],
    hooks: { Notification: { url }, PreToolUse: { url, matcher: "Bash" } },
  });
  for (const name of ["Write", "Bash"]) {
    const question = await stream.until(({ event, data }) => event === "question" && data["tool_name"] === name);
    const { session_id, tool_use_id } = question.data;
    await expect.poll(() => eventsOf(session_id)).toContain("Notification");
    const path = `/api/v1/sessions/${session_id}/answer`;
    const empty = await server.call("POST", path, { answer: " ", tool_use_id });
    expect([empty.status, empty.body.error.code]).toEqual([422, "VALIDATION_ERROR"]);
    expect((await server.call("POST", path, { answer: "no, thank you", tool_use_id })).status).toBe(200);
  }
  expect(resultOf(await stream.end())).toContain("no, thank you");
  expect(existsSync(file)).toBe(false);
});

test("if a deciding hook does not answer, the call is denied; if another hook does not answer, the session continues", async () => {
  const nobody = "http://127.0.0.1:9/hook";
  const file = join(server.work, "closed");
  const frames = await all(server, "/api/v1/query", {
    prompt: scripted("closed", [bash(`touch ${file}`), { text: "So: $LAST" }]),
    allowed_tools: ["Bash"],
    hooks: { PreToolUse: { url: nobody, timeout: 1 }, UserPromptSubmit: { url: nobody, timeout: 1 } },
  });
  expect(only(frames, "result").data).toMatchObject({ is_error: false });
  expect(existsSync(file)).toBe(false);
});
