import { type Check, type Entry, type LibraryType, type Line, departure, section, there } from "./line.ts";

/** What the schemas of the Claude API accept and reject, and what recorded answers of a real server contain. */

type Takes = Omit<Extract<Check, { check: "takes" }>, "check" | "schema" | "field">;
type Row = readonly [what: string, field: string, takes: Takes];

const takes = (schema: string, rows: readonly Row[]): readonly Entry[] =>
  rows.map(([what, field, rest]) => there(what, { check: "takes", schema, field, ...rest }));
const whole = (what: string, schema: string, values: readonly unknown[], refuses: readonly unknown[] = []): Entry =>
  there(what, { check: "takes", schema, values, refuses });
const tested = (what: string, file: string, name: string): Entry => there(what, { check: "test", file, name });

const REQUESTS = "packages/protocol/test/dialects/claude/requests.test.ts";
const FRAMES = "packages/protocol/test/dialects/claude/frames.test.ts";
const SESSIONS = "packages/server/test/dialects/claude/sessions.test.ts";
const QUESTIONS = "packages/server/test/dialects/claude/questions.test.ts";

type Said = readonly [
  what: string,
  key: string,
  type: LibraryType,
  more?: { seen?: readonly unknown[]; some?: boolean; closed?: boolean },
];

const said = (shape: string, rows: readonly Said[]): readonly Entry[] =>
  rows.map(([what, key, type, more]) => there(what, { check: "said", shape, key, type, ...more }));

const text: Takes = { values: ["x", null, undefined] };
const texts: Takes = { values: [["x"], []], refuses: ["x", null], default: [] };
const flag: Takes = { values: [true, false], refuses: ["yes"], default: false };
const prompt: Row = [
  "prompt: str, 1 to 100000 characters",
  "prompt",
  { values: ["x", "x".repeat(100_000)], refuses: ["", "x".repeat(100_001), undefined, null] },
];
const image = { type: "url", media_type: "image/png", data: "https://example.com/a.png" };
const images: Row = [
  "images: list[ImageContentSchema] | None = None",
  "images",
  { values: [[image], null, undefined], refuses: ["x", [{}]] },
];
const turns: Row = [
  "max_turns: int | None = None, 1 to 1000",
  "max_turns",
  { values: [1, 1000, null, undefined], refuses: [0, 1001, 1.5] },
];
const hook = { url: "https://example.com/hook" };
const hooks: Row = [
  "hooks: HooksConfigSchema | None = None",
  "hooks",
  { values: [{ PreToolUse: hook }, { pre_tool_use: hook }, null, undefined], refuses: [{ PreToolUse: {} }, "x"] },
];
const MODES = ["default", "acceptEdits", "plan", "bypassPermissions"];

const changes = (): readonly Row[] => [
  prompt,
  images,
  [
    "allowed_tools: list[str] | None = None",
    "allowed_tools",
    { values: [["Read"], null, undefined], refuses: ["Read"] },
  ],
  [
    "disallowed_tools: list[str] | None = None",
    "disallowed_tools",
    { values: [["Read"], null, undefined], refuses: ["Read"] },
  ],
  ["permission_mode: … | None = None", "permission_mode", { values: [...MODES, null, undefined], refuses: ["yolo"] }],
  turns,
  hooks,
];

export const requests: readonly Line[] = [
  ...section(
    "ImageContentSchema",
    takes("ImageContent", [
      [
        'type: "base64" | "url" = "base64"',
        "type",
        { values: ["base64", "url"], refuses: ["file"], default: "base64" },
      ],
      [
        'media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp"',
        "media_type",
        { values: ["image/jpeg", "image/png", "image/gif", "image/webp"], refuses: ["image/tiff", undefined] },
      ],
      ["data: str, base64 or URL", "data", { values: ["AAAA", "https://example.com/a.png"], refuses: [undefined, 5] }],
    ]),
  ),
  ...section("QueryRequest", [
    ...takes("QueryRequest", [
      prompt,
      images,
      [
        "session_id: str | None = None, resumes a session",
        "session_id",
        { values: ["01980000-0000-7000-8000-000000000001", null, undefined], refuses: ["--resume", "../x"] },
      ],
      ["fork_session: bool = False", "fork_session", flag],
      ["continue_conversation: bool = False", "continue_conversation", flag],
      ["allowed_tools: list[str] = []", "allowed_tools", texts],
      ["disallowed_tools: list[str] = []", "disallowed_tools", texts],
      [
        'permission_mode: "default" | "acceptEdits" | "plan" | "bypassPermissions" = "default"',
        "permission_mode",
        { values: MODES, refuses: ["yolo", null], default: "default" },
      ],
      ["permission_prompt_tool_name: str | None = None", "permission_prompt_tool_name", text],
      [
        "model: str | None = None",
        "model",
        { values: ["sonnet", "claude-opus-5-5", null, undefined], refuses: ["gpt-4o"] },
      ],
      turns,
      ["max_buffer_size: int | None = None", "max_buffer_size", { values: [1, null, undefined], refuses: ["1"] }],
      ["cwd: str | None = None", "cwd", text],
      ["add_dirs: list[str] = []", "add_dirs", texts],
      ["env: dict[str, str] = {}", "env", { values: [{ A: "b" }], refuses: [{ A: 1 }, null], default: {} }],
      ["system_prompt: str | None = None", "system_prompt", text],
      ["system_prompt_append: str | None = None", "system_prompt_append", text],
      ["output_style: str | None = None", "output_style", text],
      ["settings: str | None = None", "settings", text],
      [
        'setting_sources: list["project" | "user"] | None = None',
        "setting_sources",
        { values: [["project", "user"], [], null, undefined], refuses: [["cloud"]] },
      ],
      [
        "agents: dict[str, AgentDefinitionSchema] | None = None",
        "agents",
        { values: [{ a: { description: "d", prompt: "p" } }, null, undefined], refuses: [{ a: {} }, []] },
      ],
      [
        "mcp_servers: dict[str, McpServerConfigSchema] | None = None",
        "mcp_servers",
        { values: [{ a: { command: "x" } }, null, undefined], refuses: [{ a: {} }] },
      ],
      [
        "plugins: list[SdkPluginConfigSchema] | None = None",
        "plugins",
        { values: [[{ name: "p" }], null, undefined], refuses: [[{}]] },
      ],
      hooks,
      ["enable_file_checkpointing: bool = False", "enable_file_checkpointing", flag],
      [
        "output_format: OutputFormatSchema | None = None",
        "output_format",
        { values: [{ type: "json" }, null, undefined], refuses: [{ type: "xml" }] },
      ],
      ["include_partial_messages: bool = False", "include_partial_messages", flag],
      [
        "sandbox: SandboxSettingsSchema | None = None",
        "sandbox",
        { values: [{}, { network_access: true }, null, undefined], refuses: [true] },
      ],
      ["user: str | None = None", "user", text],
      [
        "extra_args: dict[str, str | None] = {}",
        "extra_args",
        { values: [{ verbose: null }, { a: "b" }], refuses: [{ a: 1 }], default: {} },
      ],
    ]),
  ]),
  ...section("AgentDefinitionSchema", [
    ...takes("AgentDefinition", [
      [
        "description: str, 1 to 1000 characters",
        "description",
        { values: ["d", "d".repeat(1000)], refuses: ["", "d".repeat(1001), undefined] },
      ],
      [
        "prompt: str, 1 to 50000 characters",
        "prompt",
        { values: ["p", "p".repeat(50_000)], refuses: ["", "p".repeat(50_001), undefined] },
      ],
      ["tools: list[str] | None = None", "tools", { values: [["Read"], null, undefined], refuses: ["Read"] }],
      [
        'model: "sonnet" | "opus" | "haiku" | "inherit" | None = None',
        "model",
        { values: ["sonnet", "opus", "haiku", "inherit", "claude-haiku-5-5", null, undefined], refuses: ["gpt"] },
      ],
    ]),
    departure(
      "tools may not have Task",
      "They may if the operator opens nested subagents, which Claude Code now supports.",
      {
        check: "test",
        file: "packages/server/test/dialects/claude/options.test.ts",
        name: "a subagent with the Task tool",
      },
    ),
  ]),
  ...section("McpServerConfigSchema", [
    ...takes("McpServerConfig", [
      ["command: str | None = None", "command", { values: ["x", null, undefined], refuses: [5] }],
      ["args: list[str] = []", "args", texts],
      [
        'type: "stdio" | "sse" | "http" = "stdio"',
        "type",
        { values: ["stdio", "sse", "http"], refuses: ["ws"], default: "stdio" },
      ],
      ["url: str | None = None", "url", { values: ["https://example.com", null, undefined], refuses: ["file:///etc"] }],
      ["headers: dict[str, str] = {}", "headers", { values: [{ a: "b" }], refuses: [{ a: 1 }], default: {} }],
      ["env: dict[str, str] = {}", "env", { values: [{ a: "b" }], refuses: [{ a: 1 }], default: {} }],
    ]),
    whole("stdio requires command", "McpServerConfig", [{ command: "x" }], [{}, { type: "stdio" }]),
    whole(
      "sse and http require url",
      "McpServerConfig",
      [{ type: "sse", url: "https://example.com" }],
      [{ type: "sse" }, { type: "http", command: "x" }],
    ),
  ]),
  ...section(
    "HooksConfigSchema",
    [
      "pre_tool_use, alias PreToolUse",
      "post_tool_use, alias PostToolUse",
      "stop, alias Stop",
      "subagent_stop, alias SubagentStop",
      "user_prompt_submit, alias UserPromptSubmit",
      "pre_compact, alias PreCompact",
      "notification, alias Notification",
    ].map((what) => tested(what, REQUESTS, "both spellings of a hook event are parsed as one name")),
  ),
  ...section(
    "HookWebhookSchema",
    takes("HookWebhook", [
      ["url: HttpUrl", "url", { values: ["https://example.com/h"], refuses: ["x", "ftp://example.com", undefined] }],
      ["headers: dict[str, str] = {}", "headers", { values: [{ a: "b" }], refuses: [{ a: 1 }], default: {} }],
      ["timeout: int = 30, 1 to 300", "timeout", { values: [1, 300], refuses: [0, 301, 1.5], default: 30 }],
      ["matcher: str | None = None, a pattern for tool names", "matcher", text],
    ]),
  ),
  ...section("OutputFormatSchema", [
    ...takes("OutputFormat", [
      [
        'type: "json" | "json_schema" = "json_schema"',
        "type",
        { values: ["json", "json_schema"], refuses: ["xml"], default: "json_schema" },
      ],
      ["schema: dict | None = None", "schema", { values: [{ type: "object" }, null, undefined], refuses: ["x"] }],
    ]),
    whole("json_schema requires schema", "OutputFormat", [{ schema: { type: "object" } }, { type: "json" }], [{}]),
    whole('a schema must have "type"', "OutputFormat", [{ schema: { type: "object" } }], [{ schema: {} }]),
  ]),
  ...section(
    "SdkPluginConfigSchema",
    takes("PluginConfig", [
      ["name: str, at least 1 character", "name", { values: ["p"], refuses: ["", undefined] }],
      ["path: str | None = None", "path", text],
      ["enabled: bool = True", "enabled", { values: [true, false], refuses: ["x"], default: true }],
    ]),
  ),
  ...section(
    "SandboxSettingsSchema",
    takes("SandboxSettings", [
      ["enabled: bool = True", "enabled", { values: [true, false], refuses: ["x"], default: true }],
      ["allowed_paths: list[str] = []", "allowed_paths", texts],
      ["network_access: bool = False", "network_access", flag],
    ]),
  ),
  ...section("ResumeRequest", takes("ResumeRequest", changes())),
  ...section("ForkRequest", [
    ...takes("ForkRequest", changes()),
    ...takes("ForkRequest", [
      ["model: str | None = None", "model", { values: ["haiku", null, undefined], refuses: ["gpt-4o"] }],
    ]),
    tested(
      "what is not given is inherited from the parent",
      QUESTIONS,
      "a run without options never gets more rights than its session had: resume and fork keep the session's rights",
    ),
  ]),
];

export const responses: readonly Line[] = [
  ...section(
    "StreamEvent",
    said("StreamEvent", [
      [
        "event: str",
        "event",
        "string",
        { seen: ["init", "message", "partial", "question", "result", "error", "done"], closed: true },
      ],
      ["id: str | None = None", "id", "string", { some: true }],
      ["data: dict", "data", "object"],
    ]),
  ),
  ...section("StreamEvent", [
    departure(
      "six events",
      "A seventh event, `question`, says that somebody must answer. The message still has the tool call that asks.",
      { check: "said", shape: "StreamEvent", key: "event", type: "string", seen: ["question"] },
    ),
  ]),
  ...section("InitEvent", [
    ...said("StreamEvent", [['event: "init"', "event", "string", { seen: ["init"] }]]),
    ...said("InitEventData", [
      ["data.session_id: str", "session_id", "string"],
      ["data.model: str", "model", "string", { seen: ["claude-sonnet-5-5"] }],
      ["data.tools: list[str]", "tools", "array"],
      ["data.mcp_servers: list[McpServerStatus]", "mcp_servers", "array"],
      ["data.plugins: list[str]", "plugins", "array"],
      ["data.commands: list[str]", "commands", "array"],
    ]),
    ...[
      "McpServerStatus.name: str",
      'McpServerStatus.status: "connected" | "failed"',
      "McpServerStatus.error: str | None = None",
    ].map((what) => tested(what, FRAMES, "init has the session's id and lists of names")),
  ]),
  ...section("MessageEvent", [
    ...said("StreamEvent", [['event: "message"', "event", "string", { seen: ["message"] }]]),
    ...said("MessageEventData", [
      [
        'data.type: "user" | "assistant" | "system"',
        "type",
        "string",
        { seen: ["user", "assistant", "system"], closed: true },
      ],
      ["data.content: list[ContentBlockSchema]", "content", "array"],
    ]),
    ...said("AssistantMessage", [["data.model: str | None = None", "model", "string"]]),
    ...said("MessageEventData", [["data.uuid: str | None = None, for checkpoints", "uuid", "string", { some: true }]]),
    ...said("AssistantMessage", [["data.usage: UsageSchema | None = None", "usage", "object", { some: true }]]),
    ...said("MessageEventData", [
      ["data.parent_tool_use_id: str | None = None", "parent_tool_use_id", "string", { some: true }],
    ]),
  ]),
  ...section("ContentBlockSchema", [
    ...said("ContentBlock", [
      [
        'type: "text" | "thinking" | "tool_use" | "tool_result"',
        "type",
        "string",
        { seen: ["text", "thinking", "tool_use", "tool_result"], closed: true },
      ],
    ]),
    ...said("TextBlock", [["text: str | None", "text", "string"]]),
    ...said("ThinkingBlock", [["thinking: str | None", "thinking", "string"]]),
    ...said("ToolUseBlock", [
      ["id: str | None", "id", "string"],
      ["name: str | None", "name", "string"],
      ["input: dict | None", "input", "object"],
    ]),
    ...said("ToolResultBlock", [
      ["tool_use_id: str | None", "tool_use_id", "string"],
      ["content: str | list | None", "content", "any"],
      ["is_error: bool | None", "is_error", "boolean", { seen: [true, false] }],
    ]),
  ]),
  ...section("PartialMessageEvent", [
    tested(
      'event: "partial", with include_partial_messages',
      "packages/server/test/dialects/claude/loop-sessions.test.ts",
      "partial frames without an id are sent before the complete message",
    ),
    ...said("PartialMessageEventData", [
      [
        'data.type: "content_block_start" | "content_block_delta" | "content_block_stop"',
        "type",
        "string",
        { seen: ["content_block_start", "content_block_delta", "content_block_stop"], closed: true },
      ],
      ["data.index: int", "index", "number"],
    ]),
    ...said("PartialStart", [["data.content_block: ContentBlockSchema | None = None", "content_block", "object"]]),
    ...said("PartialDelta", [["data.delta: ContentDeltaSchema | None = None", "delta", "object"]]),
    ...said("ContentDelta", [
      [
        'ContentDeltaSchema.type: "text_delta" | "thinking_delta" | "input_json_delta"',
        "type",
        "string",
        { seen: ["text_delta", "thinking_delta", "input_json_delta"], closed: true },
      ],
    ]),
    ...said("TextDelta", [["ContentDeltaSchema.text: str | None = None", "text", "string"]]),
    ...said("ThinkingDelta", [["ContentDeltaSchema.thinking: str | None = None", "thinking", "string"]]),
    ...said("InputDelta", [["ContentDeltaSchema.partial_json: str | None = None", "partial_json", "string"]]),
  ]),
  ...section("ResultEvent", [
    ...said("StreamEvent", [['event: "result"', "event", "string", { seen: ["result"] }]]),
    ...said("ResultEventData", [
      ["data.session_id: str", "session_id", "string"],
      ["data.is_error: bool", "is_error", "boolean", { seen: [true, false] }],
      ["data.duration_ms: int", "duration_ms", "number"],
      ["data.num_turns: int", "num_turns", "number"],
      ["data.total_cost_usd: float | None = None", "total_cost_usd", "number"],
      ["data.usage: UsageSchema | None = None", "usage", "object"],
      ["data.model_usage: dict[str, UsageSchema] | None = None", "model_usage", "object"],
      ["data.result: str | None = None", "result", "string or null"],
    ]),
    tested(
      "data.structured_output: dict | None = None",
      SESSIONS,
      "structured output is in the result; an answer that does not match gets 422 from /query/single and an error in the stream, even after a resume",
    ),
    ...said("Usage", [
      ["UsageSchema.input_tokens: int", "input_tokens", "number"],
      ["UsageSchema.output_tokens: int", "output_tokens", "number"],
      ["UsageSchema.cache_read_input_tokens: int = 0", "cache_read_input_tokens", "number"],
      ["UsageSchema.cache_creation_input_tokens: int = 0", "cache_creation_input_tokens", "number"],
    ]),
  ]),
  ...section("ErrorEvent", [
    ...said("StreamEvent", [['event: "error"', "event", "string", { seen: ["error"] }]]),
    ...said("ErrorEventData", [
      ["data.code: str", "code", "string", { seen: ["AGENT_ERROR"] }],
      ["data.message: str", "message", "string"],
      ["data.details: dict | None = None", "details", "object"],
    ]),
  ]),
  ...section("DoneEvent", [
    ...said("StreamEvent", [['event: "done"', "event", "string", { seen: ["done"] }]]),
    ...said("DoneEventData", [
      [
        'data.reason: "completed" | "interrupted" | "error" = "completed"',
        "reason",
        "string",
        { seen: ["completed", "interrupted", "error"], closed: true },
      ],
    ]),
  ]),
  ...section("SessionResponse", [
    ...said("SessionResponse", [
      ["id: str", "id", "string"],
      [
        'status: "active" | "completed" | "error"',
        "status",
        "string",
        { seen: ["active", "completed", "error"], closed: true },
      ],
      ["model: str", "model", "string"],
      ["created_at: datetime", "created_at", "string"],
      ["updated_at: datetime", "updated_at", "string"],
      ["total_turns: int", "total_turns", "number", { seen: [4] }],
      ["total_cost_usd: float | None = None", "total_cost_usd", "number"],
      ["parent_session_id: str | None = None", "parent_session_id", "string or null"],
    ]),
    ...said("SessionListResponse", [
      ["SessionListResponse.sessions: list[SessionResponse]", "sessions", "array"],
      ["SessionListResponse.total: int", "total", "number", { seen: [2] }],
      ["SessionListResponse.page: int", "page", "number"],
      ["SessionListResponse.page_size: int", "page_size", "number"],
    ]),
  ]),
  ...section("CheckpointResponse", [
    ...said("CheckpointResponse", [
      ["id: str", "id", "string"],
      ["session_id: str", "session_id", "string"],
      ["user_message_uuid: str", "user_message_uuid", "string"],
      ["created_at: datetime", "created_at", "string"],
      ["files_modified: list[str]", "files_modified", "array"],
    ]),
    ...said("CheckpointListResponse", [
      ["CheckpointListResponse.checkpoints: list[CheckpointResponse]", "checkpoints", "array"],
    ]),
  ]),
  ...section("HealthResponse", [
    ...said("HealthResponse", [
      ['status: "ok" | "degraded" | "unhealthy"', "status", "string", { seen: ["ok"] }],
      ["version: str | None = None", "version", "string"],
      ["dependencies: dict[str, DependencyStatus]", "dependencies", "object"],
    ]),
    ...said("DependencyStatus", [
      ['DependencyStatus.status: "ok" | "error"', "status", "string", { seen: ["ok"] }],
      ["DependencyStatus.latency_ms: float | None = None", "latency_ms", "number"],
    ]),
    tested(
      "DependencyStatus.error: str | None = None",
      "packages/server/test/dialects/claude/without.test.ts",
      "a server without Claude Code rejects queries with a reason, and lists sessions",
    ),
  ]),
  ...section("SDK message → API event", [
    ...[
      "SystemMessage (init) → InitEvent",
      "UserMessage → MessageEvent (user)",
      "AssistantMessage → MessageEvent (assistant)",
      "ResultMessage → ResultEvent",
    ].map((what) =>
      tested(
        what,
        SESSIONS,
        "the stream of a query has init, messages with every block, result and done, and the session has the id that Claude Code uses",
      ),
    ),
    ...said("MessageEventData", [
      [
        "SystemMessage (other) → MessageEvent (system)",
        "subtype",
        "string",
        { some: true, seen: ["api_retry", "task_started"] },
      ],
    ]),
  ]),
  ...section("SDK ContentBlock → API ContentBlock", [
    ...said("TextBlock", [['TextBlock → "text"', "type", "string", { seen: ["text"] }]]),
    ...said("ThinkingBlock", [['ThinkingBlock → "thinking"', "type", "string", { seen: ["thinking"] }]]),
    ...said("ToolUseBlock", [['ToolUseBlock → "tool_use"', "type", "string", { seen: ["tool_use"] }]]),
    ...said("ToolResultBlock", [['ToolResultBlock → "tool_result"', "type", "string", { seen: ["tool_result"] }]]),
  ]),
  ...section("AskUserQuestion", [
    departure(
      "a tool_use block with input.question",
      "Claude Code asks `input.questions`, a list. `question` of the question event has their text. The block stays in its message.",
      {
        check: "test",
        file: QUESTIONS,
        name: "the message with a question keeps its tool_use block, and `answer` reaches the agent inside the same run",
      },
    ),
    tested(
      'POST /api/v1/sessions/{session_id}/resume {"prompt": …} answers it',
      QUESTIONS,
      "a resume request answers an open question: the same run continues, and the streams of the prompt and of the resume show the same result",
    ),
    tested(
      'WebSocket {"type": "prompt", "content": …} answers it',
      QUESTIONS,
      "over the socket a prompt answers a question, even with free text",
    ),
  ]),
];
