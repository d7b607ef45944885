import {
  AnswerRequest,
  ClaudeSocketMessage,
  ControlRequest,
  ForkRequest,
  QueryRequest,
  ResumeRequest,
  RewindRequest,
  SessionListQuery,
} from "@skein/protocol";
import { describe, expect, test } from "vitest";

const id = "01980000-0000-7000-8000-000000000001";

test("a query needs only a prompt, and all other fields have the Claude API's defaults", () => {
  expect(QueryRequest.parse({ prompt: "Hello." })).toEqual({
    prompt: "Hello.",
    fork_session: false,
    continue_conversation: false,
    allowed_tools: [],
    disallowed_tools: [],
    permission_mode: "default",
    add_dirs: [],
    env: {},
    enable_file_checkpointing: false,
    include_partial_messages: false,
    extra_args: {},
    stop_on_disconnect: false,
  });
});

test("every field of the Claude API is accepted and keeps its value", () => {
  const whole = {
    prompt: "p".repeat(100_000),
    images: [{ type: "url", media_type: "image/png", data: "https://example.com/a.png" }],
    session_id: id,
    fork_session: true,
    continue_conversation: false,
    allowed_tools: ["Read", "Bash(git *)", "mcp__x__y"],
    disallowed_tools: ["Write"],
    permission_mode: "plan",
    permission_prompt_tool_name: "mcp__x__ask",
    model: "claude-sonnet-4-5",
    max_turns: 1000,
    max_buffer_size: 1024,
    cwd: "/srv/project",
    add_dirs: ["/srv/other"],
    env: { A: "b" },
    system_prompt: "Be brief.",
    output_style: "Explanatory",
    settings: "team",
    setting_sources: ["project", "user"],
    agents: { one: { description: "d", prompt: "p", tools: ["Read"], model: "inherit" } },
    mcp_servers: { x: { type: "http", url: "https://example.com/mcp", headers: { a: "b" } } },
    plugins: [{ name: "p", path: "/p", enabled: false }],
    hooks: { PreToolUse: { url: "https://example.com/hook", timeout: 5, matcher: "Bash|Write" } },
    enable_file_checkpointing: true,
    output_format: { type: "json_schema", schema: { type: "object" } },
    include_partial_messages: true,
    sandbox: { enabled: true, allowed_paths: ["/srv"], network_access: false },
    user: "u-1",
    extra_args: { verbose: null },
  };
  expect(QueryRequest.parse(whole)).toMatchObject({ ...whole, mcp_servers: { x: { args: [], env: {} } } });
});

const refusals: readonly [why: string, body: Record<string, unknown>, path: string][] = [
  ["no prompt", { prompt: undefined }, "prompt"],
  ["an empty prompt", { prompt: "" }, "prompt"],
  ["a prompt of 100,001 characters", { prompt: "p".repeat(100_001) }, "prompt"],
  ["an unknown field", { prmopt: "x" }, ""],
  ["a session id that is not a UUID", { session_id: "--settings=x" }, "session_id"],
  ["an image of an unknown type", { images: [{ media_type: "image/tiff", data: "x" }] }, "images.0.media_type"],
  ["an image without data", { images: [{ media_type: "image/png" }] }, "images.0.data"],
  ["two tools in one entry", { allowed_tools: ["Read,Bash"] }, "allowed_tools.0"],
  ["null for a list", { allowed_tools: null }, "allowed_tools"],
  ["a tool that is allowed and disallowed", { allowed_tools: ["A"], disallowed_tools: ["A"] }, "disallowed_tools"],
  ["an unknown mode", { permission_mode: "yolo" }, "permission_mode"],
  ["a model of another maker", { model: "gpt-4o" }, "model"],
  ["no turns", { max_turns: 0 }, "max_turns"],
  ["1001 turns", { max_turns: 1001 }, "max_turns"],
  ["a buffer of 0 bytes", { max_buffer_size: 0 }, "max_buffer_size"],
  ["a variable that is not text", { env: { A: 1 } }, "env.A"],
  [
    "a thinking budget that is too small",
    { thinking: { type: "enabled", budget_tokens: 5 } },
    "thinking.budget_tokens",
  ],
  ["an unknown effort", { effort: "enormous" }, "effort"],
  ["two betas in one entry", { betas: ["a,b"] }, "betas.0"],
  ["a budget of 0", { max_budget_usd: 0 }, "max_budget_usd"],
  ["skills that are not a list", { skills: "some" }, "skills"],
  ["a fallback model of another maker", { fallback_model: "gpt-4o" }, "fallback_model"],
  ["an unknown source of settings", { setting_sources: ["cloud"] }, "setting_sources.0"],
  ["a subagent without a description", { agents: { a: { description: "", prompt: "p" } } }, "agents.a.description"],
  [
    "a subagent's prompt of 50,001 characters",
    { agents: { a: { description: "d", prompt: "p".repeat(50_001) } } },
    "agents.a.prompt",
  ],
  [
    "a subagent of an unknown model",
    { agents: { a: { description: "d", prompt: "p", model: "gpt" } } },
    "agents.a.model",
  ],
  ["a stdio server without a command", { mcp_servers: { x: {} } }, "mcp_servers.x.command"],
  ["an sse server without a url", { mcp_servers: { x: { type: "sse" } } }, "mcp_servers.x.url"],
  ["an http server without a url", { mcp_servers: { x: { type: "http" } } }, "mcp_servers.x.url"],
  ["a plugin without a name", { plugins: [{ name: "" }] }, "plugins.0.name"],
  ["a hook without a url", { hooks: { PreToolUse: {} } }, "hooks.PreToolUse.url"],
  ["a hook whose url is not a web address", { hooks: { Stop: { url: "file:///etc" } } }, "hooks.Stop.url"],
  ["a hook with a timeout of 301 s", { hooks: { Stop: { url: "https://a.b", timeout: 301 } } }, "hooks.Stop.timeout"],
  ["an unknown hook event", { hooks: { Whatever: { url: "https://a.b" } } }, "hooks"],
  ["json_schema without a schema", { output_format: { type: "json_schema" } }, "output_format.schema"],
  ["a schema without a type", { output_format: { schema: {} } }, "output_format.schema"],
  ["a sandbox that is not an object", { sandbox: true }, "sandbox"],
  ["a metadata key that is not a plain word", { metadata: { "a') = 1": 1 } }, "metadata"],
  [
    "both session_id and continue_conversation",
    { session_id: id, continue_conversation: true },
    "continue_conversation",
  ],
  ["a fork without a session", { fork_session: true }, "fork_session"],
];

test.each(refusals)("a query is rejected for %s", (_, body, path) => {
  const result = QueryRequest.safeParse({ prompt: "p", ...body });
  expect(result.success).toBe(false);
  expect(result.error?.issues.map((issue) => issue.path.join("."))[0] ?? "").toMatch(path);
});

test("both spellings of a hook event are parsed as one name", () => {
  const hook = { url: "https://example.com/h" };
  const names = [
    "pre_tool_use",
    "post_tool_use",
    "stop",
    "subagent_stop",
    "user_prompt_submit",
    "pre_compact",
    "notification",
  ];
  const { hooks } = QueryRequest.parse({ prompt: "p", hooks: Object.fromEntries(names.map((name) => [name, hook])) });
  expect(Object.keys(hooks ?? {})).toEqual([
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SubagentStop",
    "UserPromptSubmit",
    "PreCompact",
    "Notification",
  ]);
  expect(hooks?.PreToolUse).toEqual({ ...hook, headers: {}, timeout: 30 });
});

describe.each([
  ["ResumeRequest", ResumeRequest],
  ["ForkRequest", ForkRequest],
])("%s", (_, request) => {
  test("missing fields get no defaults, because they are inherited", () => {
    expect(request.parse({ prompt: "More." })).toEqual({ prompt: "More.", stop_on_disconnect: false });
  });

  test("the fields of the specification are accepted", () => {
    const body = {
      prompt: "More.",
      images: [{ media_type: "image/png", data: "AAAA" }],
      allowed_tools: ["Read"],
      disallowed_tools: [],
      permission_mode: "acceptEdits",
      max_turns: 3,
      hooks: { Stop: { url: "https://example.com" } },
      model: "haiku",
    };
    expect(request.parse(body)).toMatchObject({
      allowed_tools: ["Read"],
      permission_mode: "acceptEdits",
      max_turns: 3,
    });
  });

  test.each([{ env: { A: "b" } }, { cwd: "/" }, { extra_args: {} }])("%j is rejected", (more) => {
    expect(request.safeParse({ prompt: "p", ...more }).success).toBe(false);
  });
});

test("a fork may begin at a message", () => {
  expect(ForkRequest.parse({ prompt: "p", message_id: id }).message_id).toBe(id);
  expect(ResumeRequest.safeParse({ prompt: "p", message_id: id }).success).toBe(false);
});

test("a prompt over the socket has the field prompt or content, but not both", () => {
  expect(ClaudeSocketMessage.parse({ type: "prompt", content: "Hi." })).toMatchObject({ content: "Hi." });
  expect(ClaudeSocketMessage.parse({ type: "prompt", prompt: "Hi." })).toMatchObject({ prompt: "Hi." });
  expect(ClaudeSocketMessage.safeParse({ type: "prompt" }).success).toBe(false);
  expect(ClaudeSocketMessage.safeParse({ type: "prompt", prompt: "a", content: "b" }).success).toBe(false);
});

test.each([
  [{ type: "interrupt" }],
  [{ type: "answer", answer: "Yes", session_id: id }],
  [{ type: "answer", answer: { behavior: "allow" }, tool_use_id: "toolu_1" }],
  [{ type: "control", permission_mode: "plan" }],
])("the socket accepts %j", (message) => {
  expect(ClaudeSocketMessage.parse(message)).toEqual(message);
});

test("the other requests are parsed with their defaults", () => {
  expect(RewindRequest.parse({ checkpoint_id: id })).toEqual({ checkpoint_id: id, dry_run: false });
  expect(ControlRequest.parse({ type: "anything" })).toEqual({ type: "anything" });
  expect(AnswerRequest.safeParse({ answer: "" }).success).toBe(false);
  expect(SessionListQuery.parse({ tags: "a", metadata: "k:v" })).toEqual({
    tags: ["a"],
    metadata: ["k:v"],
    page: 1,
    page_size: 50,
  });
  expect(SessionListQuery.safeParse({ page_size: "101" }).success).toBe(false);
});
