import { type Entry, type ConformanceList, departure, section, there } from "./line.ts";

const SQL_TESTS = "packages/sql/test/main-tables.test.ts";
const UUID = "be74c085-8d87-49a7-9100-7f0e83f29a10";
const TIME = "2025-12-26T12:58:17.099Z";
const KEPT = "Kept like any field that the schema does not name, so its value is not checked.";

/**
 * Makes an entry for each field of a schema, with the specification's text and with values that the schema must accept.
 */
function fields(
  schema: string,
  said: Readonly<Record<string, readonly [text: string, values: readonly unknown[]]>>,
): readonly Entry[] {
  return Object.entries(said).map(([field, [text, values]]) =>
    there(`${schema.replace(/Line$/, "")}.${field}: ${text}`, { check: "format", schema, field, values }),
  );
}

const pattern = (what: string, schema: string, value: string): Entry =>
  there(what, { check: "format", schema, field: "", values: [value] });

/**
 * Makes an entry for each column of a DuckDB table. `text` has one column per line. A primary key is a departure with
 * the reason `key`.
 */
const columns = (table: string, text: string, key: string): readonly Entry[] =>
  text
    .trim()
    .split("\n")
    .map((line) => {
      const what = line.trim();
      const column = /^\w+ \w+/.exec(what)?.[0] ?? "";
      const check = { check: "test", file: SQL_TESTS, name: `${table}: ${column}` } as const;
      return what.endsWith("PRIMARY KEY") && key !== "" ? departure(what, key, check) : there(what, check);
    });

export const sql: ConformanceList = {
  part: "SQL",
  specification: "003",
  title: "Schemas of Claude Code's files, and tables over them in DuckDB",
  lines: [
    ...section("BaseMessage", [
      ...["user", "assistant", "system", "file-history-snapshot", "queue-operation", "summary"].map((type) =>
        there(`type: "${type}"`, { check: "export", module: "@skein/history/format", name: `schemas.lines.${type}` }),
      ),
      ...fields("BaseMessage", {
        uuid: ["string", [UUID]],
        parentUuid: ["string | null", [UUID, null]],
        timestamp: ["string, ISO 8601", [TIME]],
        sessionId: ["string", [UUID]],
        cwd: ["string", ["/home/dev"]],
        version: ["string", ["2.0.76"]],
        slug: ["string", ["keen-juggling-origami"]],
        gitBranch: ["string", ["main"]],
        userType: ["string", ["external"]],
        isSidechain: ["boolean", [true, false]],
      }),
    ]),
    ...section("UserMessage", [
      ...fields("UserLine", {
        type: ['"user"', ["user"]],
        "message.role": ['"user"', ["user"]],
        "message.content": ["string", ["hello"]],
        "thinkingMetadata.level": ['"high" | "medium" | "low"', ["high", "medium", "low"]],
        "thinkingMetadata.disabled": ["boolean", [true]],
        todos: ["TodoItem[]", [[{ content: "c", status: "pending" }]]],
      }),
      departure("thinkingMetadata.triggers: string[]", KEPT),
      departure("message.content is a string", "It may also be a list of blocks: results, images and text.", {
        check: "format",
        schema: "UserLine",
        field: "message.content",
        values: [[{ type: "tool_result", tool_use_id: "t", content: "ok" }]],
      }),
    ]),
    ...section("AssistantMessage", [
      ...fields("AssistantLine", {
        type: ['"assistant"', ["assistant"]],
        "message.model": ["string", ["claude-sonnet-4-20250514"]],
        "message.id": ["string", ["msg_1"]],
        "message.role": ['"assistant"', ["assistant"]],
        "message.content": ["ContentBlock[]", [[{ type: "text", text: "hi" }]]],
        "message.stop_reason": ["string | null", ["end_turn", null]],
        "message.stop_sequence": ["string | null", ["END", null]],
        "message.usage": ["UsageInfo", [{ input_tokens: 1, output_tokens: 2 }]],
      }),
      departure('message.type: "message"', KEPT),
      departure("toolUseResult?: ToolResult", "In real files it is on the user line with the result. Both are read.", {
        check: "format",
        schema: "UserLine",
        field: "toolUseResult",
        values: [{ stdout: "" }],
      }),
      ...fields("UsageInfo", {
        input_tokens: ["number", [1]],
        output_tokens: ["number", [1]],
        cache_creation_input_tokens: ["number?", [1]],
        cache_read_input_tokens: ["number?", [1]],
        "cache_creation.ephemeral_5m_input_tokens": ["number?", [1]],
        "cache_creation.ephemeral_1h_input_tokens": ["number?", [1]],
      }),
    ]),
    ...section("Content blocks", [
      ...fields("TextBlock", { type: ['"text"', ["text"]], text: ["string", ["hi"]] }),
      ...fields("ThinkingBlock", {
        type: ['"thinking"', ["thinking"]],
        thinking: ["string", ["hm"]],
        signature: ["string", ["s"]],
      }),
      ...fields("ToolUseBlock", {
        type: ['"tool_use"', ["tool_use"]],
        id: ["string", ["toolu_bdrk_01"]],
        name: ["string", ["Bash"]],
        input: ["object", [{}]],
      }),
      ...fields("ToolResultBlock", {
        type: ['"tool_result"', ["tool_result"]],
        tool_use_id: ["string", ["toolu_1"]],
        content: ["string | ContentItem[]", ["ok", [{ type: "text", text: "ok" }]]],
        is_error: ["boolean?", [true]],
      }),
      departure("no other blocks", "Other blocks are kept.", {
        check: "format",
        schema: "ContentBlock",
        field: "",
        values: [{ type: "hologram", voxels: [] }],
      }),
    ]),
    ...section("Tool inputs", [
      ...fields("BashInput", { command: ["string", ["ls"]], timeout: ["number?", [1000]] }),
      ...fields("ReadInput", { file_path: ["string", ["/a"]], offset: ["number?", [1]], limit: ["number?", [1]] }),
      ...fields("WriteInput", { file_path: ["string", ["/a"]], content: ["string", [""]] }),
      ...fields("EditInput", {
        file_path: ["string", ["/a"]],
        old_string: ["string", [""]],
        new_string: ["string", [""]],
      }),
      ...fields("GlobInput", { pattern: ["string", ["*"]], path: ["string?", ["/a"]] }),
      ...fields("TaskInput", { description: ["string", ["d"]], prompt: ["string", ["p"]] }),
      departure(
        'TaskInput.subagent_type: "explore" | "task" | "general-purpose" | "code-review"',
        "Any string, because people define their own agents. The tool is now called Agent; both names are known.",
        {
          check: "format",
          schema: "TaskInput",
          field: "subagent_type",
          values: ["explore", "task", "general-purpose", "code-review", "my-own"],
        },
      ),
      departure(
        "TodoWriteInput.todos: string, a Markdown checklist",
        "Claude Code sends a list of items. Both are read.",
        {
          check: "format",
          schema: "TodoWriteInput",
          field: "todos",
          values: ["- [ ] a", [{ content: "a", status: "pending" }]],
        },
      ),
      ...fields("WebFetchInput", {
        url: ["string", ["https://example.com"]],
        max_length: ["number?", [1]],
        raw: ["boolean?", [true]],
      }),
    ]),
    ...section("SystemMessage", [
      ...fields("SystemLine", {
        type: ['"system"', ["system"]],
        subtype: ['"compact_boundary" | "info" | "error"', ["compact_boundary", "info", "error"]],
        content: ["string", ["text"]],
        level: ['"info" | "warning" | "error"', ["info", "warning", "error"]],
        isMeta: ["boolean", [true]],
        "compactMetadata.trigger": ["string", ["auto"]],
        "compactMetadata.preTokens": ["number", [1]],
        logicalParentUuid: ["string?", [UUID]],
      }),
    ]),
    ...section("FileHistorySnapshot", [
      ...fields("FileHistorySnapshot", {
        type: ['"file-history-snapshot"', ["file-history-snapshot"]],
        messageId: ["string", [UUID]],
        isSnapshotUpdate: ["boolean", [false]],
        "snapshot.messageId": ["string", [UUID]],
        "snapshot.timestamp": ["string", [TIME]],
        "snapshot.trackedFileBackups.*.backupFileName": ["string | null", ["a1a38b086cb7d247@v2", null]],
        "snapshot.trackedFileBackups.*.version": ["number", [1]],
        "snapshot.trackedFileBackups.*.backupTime": ["string", [TIME]],
      }),
    ]),
    ...section("QueueOperation", [
      ...fields("QueueOperationLine", {
        type: ['"queue-operation"', ["queue-operation"]],
        timestamp: ["string", [TIME]],
        sessionId: ["string", [UUID]],
        content: ["string", ["later"]],
      }),
      departure('operation: "enqueue" | "dequeue"', "Also remove, popAll, and any other text.", {
        check: "format",
        schema: "QueueOperationLine",
        field: "operation",
        values: ["enqueue", "dequeue", "remove", "popAll"],
      }),
    ]),
    ...section("SummaryMessage", [
      ...fields("SummaryLine", {
        type: ['"summary"', ["summary"]],
        summary: ["string", ["A chart"]],
        leafUuid: ["string", [UUID]],
      }),
    ]),
    ...section("AgentMessage", [...fields("BaseMessage", { agentId: ["string", ["a64f14a"]] })]),
    ...section("History entries", [
      there("history.jsonl", { check: "export", module: "@skein/history", name: "readHistory" }),
      ...fields("HistoryEntry", {
        display: ["string", ["hi"]],
        pastedContents: ["object", [{}]],
        timestamp: ["number, milliseconds", [1_760_110_675_230]],
        project: ["string", ["/a"]],
        sessionId: ["string?", [UUID]],
      }),
    ]),
    ...section("Todo items", [
      there("a todo file is a JSON array", {
        check: "format",
        schema: "TodoFile",
        field: "",
        values: [[{ content: "c", status: "pending" }]],
      }),
      ...fields("TodoItem", {
        content: ["string", ["c"]],
        status: ['"pending" | "in_progress" | "completed"', ["pending", "in_progress", "completed"]],
        activeForm: ["string?", ["doing"]],
      }),
      there("<session-uuid>-agent-<agent-uuid>.json", { check: "export", module: "@skein/history", name: "listTodos" }),
    ]),
    ...section("Plan files", [
      ...fields("Plan", {
        title: ["# Plan Title", ["A plan", null]],
        sections: [
          "## Problem Statement, Current State Analysis, Implementation Plan, Notes",
          [[{ title: "Notes", body: "" }]],
        ],
        phases: ["### Phase 1, with tasks", [[{ title: "Phase 1: Setup", items: [{ text: "Task 1", done: false }] }]]],
      }),
      departure(
        "<adjective>-<verb>-<noun>.md",
        "Newer versions make the name from the prompt: any words with dashes.",
        {
          check: "format",
          schema: "Slug",
          field: "",
          values: ["keen-juggling-origami", "binary-prancing-shore"],
        },
      ),
    ]),
    ...section("Stats cache", [
      there("stats-cache.json", { check: "export", module: "@skein/history", name: "readStats" }),
      ...fields("StatsCache", {
        version: ["number", [1]],
        lastComputedDate: ["string", ["2025-12-26"]],
        dailyActivity: ["DailyStats[]", [[{ date: "2025-12-26", messageCount: 1, sessionCount: 1, toolCallCount: 1 }]]],
      }),
      ...fields("DailyStats", {
        date: ["string", ["2025-12-26"]],
        messageCount: ["number", [1]],
        sessionCount: ["number", [1]],
        toolCallCount: ["number", [1]],
      }),
    ]),
    ...section(
      "claude_conversations",
      columns(
        "claude_conversations",
        `
        session_id VARCHAR
        project_path VARCHAR
        message_uuid VARCHAR PRIMARY KEY
        parent_uuid VARCHAR
        message_type VARCHAR
        timestamp TIMESTAMP
        content TEXT
        model VARCHAR
        tool_uses JSON
        token_usage JSON
        slug VARCHAR
        git_branch VARCHAR
        cwd VARCHAR`,
        "Not a key: ids repeat in forks and are missing in many lines. file and line say where a row comes from.",
      ),
    ),
    ...section(
      "claude_plans",
      columns(
        "claude_plans",
        `
        plan_name VARCHAR PRIMARY KEY
        slug VARCHAR
        content TEXT
        file_size INTEGER
        created_at TIMESTAMP
        modified_at TIMESTAMP`,
        "Not a key: two data directories may have plans with the same name. The column file tells them apart.",
      ),
    ),
    ...section("claude_todos", [
      ...columns(
        "claude_todos",
        `
        session_id VARCHAR
        agent_id VARCHAR
        todo_index INTEGER
        content TEXT
        status VARCHAR
        active_form VARCHAR`,
        "",
      ),
      there("status: 'pending', 'in_progress', 'completed'", {
        check: "test",
        file: SQL_TESTS,
        name: "todo items have the states pending, in_progress and completed",
      }),
      departure(
        "PRIMARY KEY (session_id, agent_id, todo_index)",
        "Not a key: two data directories may have lists of the same session. The column file tells them apart.",
      ),
    ]),
    ...section(
      "claude_history",
      columns(
        "claude_history",
        `
        timestamp TIMESTAMP
        project VARCHAR
        session_id VARCHAR
        display TEXT
        pasted_contents JSON`,
        "",
      ),
    ),
    ...section("claude_stats", [
      ...columns(
        "claude_stats",
        `
        date DATE
        message_count INTEGER
        session_count INTEGER
        tool_call_count INTEGER`,
        "",
      ),
      there("date is the PRIMARY KEY", {
        check: "test",
        file: SQL_TESTS,
        name: "claude_stats has one row for each day, even if the cache repeats the day and transcripts contain it",
      }),
    ]),
    ...section("Field value patterns", [
      pattern("UUIDs: be74c085-8d87-49a7-9100-7f0e83f29a10", "Uuid", UUID),
      departure(
        "short agent ids: a[0-9a-f]{6,7}",
        "There are longer ids too: the letter a and then 16 hexadecimal digits.",
        {
          check: "format",
          schema: "ShortAgentId",
          field: "",
          values: ["a64f14a"],
        },
      ),
      pattern("timestamps: 2025-12-26T12:58:17.099Z", "IsoTimestamp", TIME),
      there("timestamps in history: 1760110675230", {
        check: "format",
        schema: "HistoryEntry",
        field: "timestamp",
        values: [1_760_110_675_230],
      }),
      departure(
        "project paths: /Users/me/project-name is -Users-me-project-name",
        "Every character but letters and digits becomes a dash, so the path cannot be decoded.",
        { check: "format", schema: "EncodedProjectPath", field: "", values: ["-Users-me-project-name"] },
      ),
      pattern("slugs: keen-juggling-origami, binary-prancing-shore", "Slug", "binary-prancing-shore"),
      departure(
        "file history backups: <content-hash>@v<version>",
        "The hash is of the file's path, not of its content.",
        {
          check: "format",
          schema: "BackupFileName",
          field: "",
          values: ["a1a38b086cb7d247@v2"],
        },
      ),
    ]),
  ],
};
