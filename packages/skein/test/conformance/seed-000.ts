import { type ColumnCheck, type Entry, type Seed, departure, open, section, there } from "./line.ts";

const API = "the Claude Agent API";
const AT = "timestamptz: a time without a zone means another instant on another machine.";

type Column = Omit<ColumnCheck, "check" | "view">;

const columns = (view: string, rows: readonly (readonly [what: string, check: Column])[]): readonly Entry[] =>
  rows.map(([what, { ...rest }]) => {
    const check: ColumnCheck = { check: "column", view, ...rest };
    return rest.type.startsWith("timestamp") ? departure(what, AT, check) : there(what, check);
  });

const at = (column: string): Column => ({ column, type: "timestamp with time zone", default: "now()", notNull: true });
const id = (column = "id"): Column => ({ column, type: "uuid", default: "gen_random_uuid()", notNull: true });

/** Fields of a schema that the API will have, one per line of the seed. */
const fields = (text: string): readonly Entry[] =>
  text
    .trim()
    .split("\n")
    .map((line) => open(line.trim(), API));

const lookup = (what: string, query: string): Entry => there(what, { check: "index", query });

export const seed000: Seed = {
  number: "000",
  title: "Data model of an HTTP API around the Claude Agent SDK",
  lines: [
    ...section("Session", [
      ...columns("api.sessions", [
        ["id: UUID, primary key, default uuid4", id()],
        ["created_at: datetime, default now", at("created_at")],
        ["updated_at: datetime, default now, on update now", at("updated_at")],
        [
          'status: String(20), default "active"',
          { column: "status", type: "character varying", size: "20", default: "active", notNull: true },
        ],
        ["model: String(50)", { column: "model", type: "character varying", size: "50", notNull: true }],
        [
          "working_directory: String(500) or null",
          { column: "working_directory", type: "character varying", size: "500" },
        ],
        ["total_turns: int, default 0", { column: "total_turns", type: "integer", default: "0", notNull: true }],
        ["total_cost_usd: Numeric(10, 6) or null", { column: "total_cost_usd", type: "numeric", size: "10,6" }],
        ["parent_session_id: UUID or null", { column: "parent_session_id", type: "uuid" }],
        ["metadata: JSONB or null", { column: "metadata", type: "jsonb" }],
      ]),
      departure("id: uuid4", "UUID v7 for ids of ours; an id that comes from elsewhere is kept as it is.", {
        check: "version 7",
        view: "api.sessions",
        column: "id",
      }),
      departure(
        "parent_session_id: ForeignKey(sessions.id)",
        "Without the key: a fork stays whole when its parent is deleted.",
        {
          check: "test",
          file: "packages/core/src/testing/projection-contract.ts",
          name: "forks at any message without touching the parent, and a fork outlives it",
        },
      ),
      there("messages: relationship", {
        check: "query",
        query: "select m.id from api.session_messages m join api.sessions s on s.id = m.session_id",
      }),
      there("checkpoints: relationship", {
        check: "query",
        query: "select c.id from api.checkpoints c join api.sessions s on s.id = c.session_id",
      }),
    ]),
    ...section("Session: validation rules", [
      there("status is one of active, completed, error", {
        check: "values",
        view: "api.sessions",
        column: "status",
        values: ["active", "completed", "error"],
      }),
      there("the status that is stored holds nothing else", {
        check: "refused",
        write: "update skein.sessions set outcome = 'exploded'",
        code: "23514",
      }),
      open("model is a valid Claude model identifier", API),
      there("model has at most 100 characters where it is stored", {
        check: "refused",
        write: "update skein.sessions set model = repeat('m', 101)",
        code: "23514",
      }),
      there("working_directory has at most 500 characters", {
        check: "refused",
        write: "update skein.sessions set working_directory = repeat('w', 501)",
        code: "23514",
      }),
      there("total_turns >= 0", {
        check: "refused",
        write: "update skein.heads set total_turns = -1",
        code: "23514",
      }),
      departure(
        "total_cost_usd >= 0 if set",
        "Kept in integer micro-dollars, which cannot be negative, and shown in dollars.",
        {
          check: "refused",
          write: "update skein.heads set cost_micros = -1",
          code: "23514",
        },
      ),
    ]),
    ...section("Session: state transitions", [
      there("active → completed", {
        check: "query",
        query: "select id from api.sessions where status = 'completed'",
      }),
      there("active → error", { check: "query", query: "select id from api.sessions where status = 'error'" }),
      departure(
        "no transitions from completed or error",
        "They are outcomes of a run. A resume opens a new run and the session is active again: the seed's own answer by resume needs that. A cancelled run shows as error.",
        {
          check: "query",
          query:
            "select session_id from api.session_messages where message_type = 'result' group by 1 having count(*) > 1",
        },
      ),
    ]),
    ...section("SessionMessage", [
      ...columns("api.session_messages", [
        ["id: UUID, primary key, default uuid4", id()],
        ["session_id: UUID, foreign key, indexed", { column: "session_id", type: "uuid", notNull: true }],
        ["message_type: String(20)", { column: "message_type", type: "character varying", size: "20", notNull: true }],
        ["content: JSONB", { column: "content", type: "jsonb", notNull: true }],
        ["created_at: datetime, default now", at("created_at")],
      ]),
      there("message_type is one of user, assistant, system, result", {
        check: "values",
        view: "api.session_messages",
        column: "message_type",
        values: ["user", "assistant", "system", "result"],
      }),
      departure(
        "content is valid JSON",
        "Stored as json, which keeps NUL escapes, lone surrogates and the order of keys; shown as jsonb, in which those two characters are U+FFFD.",
        { check: "refused", write: "update skein.messages set content = 'not json'", code: "22P02" },
      ),
    ]),
    ...section("Checkpoint", [
      ...columns("api.checkpoints", [
        ["id: UUID, primary key, default uuid4", id()],
        ["session_id: UUID, foreign key, indexed", { column: "session_id", type: "uuid", notNull: true }],
        [
          "user_message_uuid: String(100)",
          { column: "user_message_uuid", type: "character varying", size: "100", notNull: true },
        ],
        ["created_at: datetime, default now", at("created_at")],
        ["files_modified: ARRAY(String)", { column: "files_modified", type: "ARRAY", notNull: true }],
      ]),
      departure(
        "user_message_uuid is unique across all checkpoints",
        "Unique in its session: a fork copies its history, and with it the ids of messages.",
        {
          check: "test",
          file: "packages/core/src/testing/projection-contract.ts",
          name: "refuses a second checkpoint for one user message of a session, and keeps nothing of it",
        },
      ),
      there("user_message_uuid has at most 100 characters", {
        check: "refused",
        write: "update skein.checkpoints set user_message_uuid = repeat('u', 101)",
        code: "23514",
      }),
      there("files_modified is a list of absolute paths", {
        check: "refused",
        write: "update skein.checkpoints set files_modified = '{relative}'",
        code: "23514",
      }),
    ]),
    ...section("Redis cache structures", [
      ...fields(`
        session:{session_id}
        session:{session_id}: TTL 3600 seconds
        session:{session_id}: id
        session:{session_id}: status
        session:{session_id}: model
        session:{session_id}: created_at
        session:{session_id}: last_activity
        active_connections: SET of session_id
        session_lock:{session_id}
        session_lock:{session_id}: TTL 300 seconds
        session_lock:{session_id}: value connection_id`),
    ]),
    ...section(
      "ImageContentSchema",
      fields(`
        type: "base64" | "url" = "base64"
        media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp"
        data: str, base64 or URL`),
    ),
    ...section(
      "QueryRequest",
      fields(`
        prompt: str, 1 to 100000 characters
        images: list[ImageContentSchema] | None = None
        session_id: str | None = None, resumes a session
        fork_session: bool = False
        continue_conversation: bool = False
        allowed_tools: list[str] = []
        disallowed_tools: list[str] = []
        permission_mode: "default" | "acceptEdits" | "plan" | "bypassPermissions" = "default"
        permission_prompt_tool_name: str | None = None
        model: str | None = None
        max_turns: int | None = None, 1 to 1000
        max_buffer_size: int | None = None
        cwd: str | None = None
        add_dirs: list[str] = []
        env: dict[str, str] = {}
        system_prompt: str | None = None
        system_prompt_append: str | None = None
        output_style: str | None = None
        settings: str | None = None
        setting_sources: list["project" | "user"] | None = None
        agents: dict[str, AgentDefinitionSchema] | None = None
        mcp_servers: dict[str, McpServerConfigSchema] | None = None
        plugins: list[SdkPluginConfigSchema] | None = None
        hooks: HooksConfigSchema | None = None
        enable_file_checkpointing: bool = False
        output_format: OutputFormatSchema | None = None
        include_partial_messages: bool = False
        sandbox: SandboxSettingsSchema | None = None
        user: str | None = None
        extra_args: dict[str, str | None] = {}`),
    ),
    ...section(
      "AgentDefinitionSchema",
      fields(`
        description: str, 1 to 1000 characters
        prompt: str, 1 to 50000 characters
        tools: list[str] | None = None
        model: "sonnet" | "opus" | "haiku" | "inherit" | None = None
        tools may not have Task`),
    ),
    ...section(
      "McpServerConfigSchema",
      fields(`
        command: str | None = None
        args: list[str] = []
        type: "stdio" | "sse" | "http" = "stdio"
        url: str | None = None
        headers: dict[str, str] = {}
        env: dict[str, str] = {}
        stdio requires command
        sse and http require url`),
    ),
    ...section(
      "HooksConfigSchema",
      fields(`
        pre_tool_use, alias PreToolUse
        post_tool_use, alias PostToolUse
        stop, alias Stop
        subagent_stop, alias SubagentStop
        user_prompt_submit, alias UserPromptSubmit
        pre_compact, alias PreCompact
        notification, alias Notification`),
    ),
    ...section(
      "HookWebhookSchema",
      fields(`
        url: HttpUrl
        headers: dict[str, str] = {}
        timeout: int = 30, 1 to 300
        matcher: str | None = None, a pattern for tool names`),
    ),
    ...section(
      "OutputFormatSchema",
      fields(`
        type: "json" | "json_schema" = "json_schema"
        schema: dict | None = None
        json_schema requires schema
        a schema must have "type"`),
    ),
    ...section(
      "SdkPluginConfigSchema",
      fields(`
        name: str, at least 1 character
        path: str | None = None
        enabled: bool = True`),
    ),
    ...section(
      "SandboxSettingsSchema",
      fields(`
        enabled: bool = True
        allowed_paths: list[str] = []
        network_access: bool = False`),
    ),
    ...section(
      "ResumeRequest",
      fields(`
        prompt: str, 1 to 100000 characters
        images: list[ImageContentSchema] | None = None
        allowed_tools: list[str] | None = None
        disallowed_tools: list[str] | None = None
        permission_mode: … | None = None
        max_turns: int | None = None, 1 to 1000
        hooks: HooksConfigSchema | None = None`),
    ),
    ...section(
      "ForkRequest",
      fields(`
        prompt: str, 1 to 100000 characters
        images: list[ImageContentSchema] | None = None
        allowed_tools: list[str] | None = None
        disallowed_tools: list[str] | None = None
        permission_mode: … | None = None
        max_turns: int | None = None, 1 to 1000
        model: str | None = None
        hooks: HooksConfigSchema | None = None
        what is not given is inherited from the parent`),
    ),
    ...section(
      "StreamEvent",
      fields(`
        event: str
        id: str | None = None
        data: dict`),
    ),
    ...section(
      "InitEvent",
      fields(`
        event: "init"
        data.session_id: str
        data.model: str
        data.tools: list[str]
        data.mcp_servers: list[McpServerStatus]
        data.plugins: list[str]
        data.commands: list[str]
        McpServerStatus.name: str
        McpServerStatus.status: "connected" | "failed"
        McpServerStatus.error: str | None = None`),
    ),
    ...section(
      "MessageEvent",
      fields(`
        event: "message"
        data.type: "user" | "assistant" | "system"
        data.content: list[ContentBlockSchema]
        data.model: str | None = None
        data.uuid: str | None = None, for checkpoints
        data.usage: UsageSchema | None = None
        data.parent_tool_use_id: str | None = None`),
    ),
    ...section(
      "ContentBlockSchema",
      fields(`
        type: "text" | "thinking" | "tool_use" | "tool_result"
        text: str | None
        thinking: str | None
        id: str | None
        name: str | None
        input: dict | None
        tool_use_id: str | None
        content: str | list | None
        is_error: bool | None`),
    ),
    ...section(
      "PartialMessageEvent",
      fields(`
        event: "partial", with include_partial_messages
        data.type: "content_block_start" | "content_block_delta" | "content_block_stop"
        data.index: int
        data.content_block: ContentBlockSchema | None = None
        data.delta: ContentDeltaSchema | None = None
        ContentDeltaSchema.type: "text_delta" | "thinking_delta" | "input_json_delta"
        ContentDeltaSchema.text: str | None = None
        ContentDeltaSchema.thinking: str | None = None
        ContentDeltaSchema.partial_json: str | None = None`),
    ),
    ...section(
      "ResultEvent",
      fields(`
        event: "result"
        data.session_id: str
        data.is_error: bool
        data.duration_ms: int
        data.num_turns: int
        data.total_cost_usd: float | None = None
        data.usage: UsageSchema | None = None
        data.model_usage: dict[str, UsageSchema] | None = None
        data.result: str | None = None
        data.structured_output: dict | None = None
        UsageSchema.input_tokens: int
        UsageSchema.output_tokens: int
        UsageSchema.cache_read_input_tokens: int = 0
        UsageSchema.cache_creation_input_tokens: int = 0`),
    ),
    ...section(
      "ErrorEvent",
      fields(`
        event: "error"
        data.code: str
        data.message: str
        data.details: dict | None = None`),
    ),
    ...section(
      "DoneEvent",
      fields(`
        event: "done"
        data.reason: "completed" | "interrupted" | "error" = "completed"`),
    ),
    ...section(
      "SessionResponse",
      fields(`
        id: str
        status: "active" | "completed" | "error"
        model: str
        created_at: datetime
        updated_at: datetime
        total_turns: int
        total_cost_usd: float | None = None
        parent_session_id: str | None = None
        SessionListResponse.sessions: list[SessionResponse]
        SessionListResponse.total: int
        SessionListResponse.page: int
        SessionListResponse.page_size: int`),
    ),
    ...section(
      "CheckpointResponse",
      fields(`
        id: str
        session_id: str
        user_message_uuid: str
        created_at: datetime
        files_modified: list[str]
        CheckpointListResponse.checkpoints: list[CheckpointResponse]`),
    ),
    ...section(
      "HealthResponse",
      fields(`
        status: "ok" | "degraded" | "unhealthy"
        version: str | None = None
        dependencies: dict[str, DependencyStatus]
        DependencyStatus.status: "ok" | "error"
        DependencyStatus.latency_ms: float | None = None
        DependencyStatus.error: str | None = None`),
    ),
    ...section(
      "SDK message → API event",
      fields(`
        SystemMessage (init) → InitEvent
        UserMessage → MessageEvent (user)
        AssistantMessage → MessageEvent (assistant)
        SystemMessage (other) → MessageEvent (system)
        ResultMessage → ResultEvent`),
    ),
    ...section(
      "SDK ContentBlock → API ContentBlock",
      fields(`
        TextBlock → "text"
        ThinkingBlock → "thinking"
        ToolUseBlock → "tool_use"
        ToolResultBlock → "tool_result"`),
    ),
    ...section(
      "AskUserQuestion",
      fields(`
        a tool_use block with input.question
        POST /api/v1/sessions/{session_id}/resume {"prompt": …} answers it
        WebSocket {"type": "prompt", "content": …} answers it`),
    ),
    ...section("Entity relationships", [
      there("Session (1) < (N) SessionMessage", {
        check: "query",
        query: "select session_id from api.session_messages group by session_id having count(*) > 1",
      }),
      there("Session (1) < (N) Checkpoint", { check: "query", query: "select session_id from api.checkpoints" }),
      there("Session < (0..1) Session, parent_session_id for forks", {
        check: "query",
        query: "select f.id from api.sessions f join api.sessions p on p.id = f.parent_session_id",
      }),
    ]),
    ...section("Indexes", [
      lookup("idx_sessions_status", "select id from api.sessions where status = 'error'"),
      lookup("idx_sessions_created_at", "select id from api.sessions order by created_at desc limit 5"),
      lookup("idx_sessions_parent", "select id from api.sessions where parent_session_id = {agent}"),
      lookup("idx_messages_session_id", "select id from api.session_messages where session_id = {agent}"),
      lookup(
        "idx_messages_created_at",
        "select id from api.session_messages where created_at > now() - interval '1 hour'",
      ),
      lookup("idx_checkpoints_session_id", "select id from api.checkpoints where session_id = {agent}"),
      lookup(
        "idx_checkpoints_uuid",
        "select id from api.checkpoints where session_id = {agent} and user_message_uuid = 'u'",
      ),
    ]),
  ],
};
