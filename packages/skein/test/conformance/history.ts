import { type Entry, type LibraryType, type ConformanceList, departure, section, there } from "./line.ts";

const COPIED = "a copy does not change the source, and the session is found in both places";
const WHOLE = "a workspace is moved with its memory, all prompts and its settings, and undo restores every byte";
const FULL = "a move to a full disk fails without partial files or changes of the source, and succeeds with more space";

/** The fields of an entity. `said` is the type in the specification, and `type` is the type in the library's result. */
function fields(
  shape: string,
  types: Readonly<Record<string, readonly [said: string, type: LibraryType]>>,
): readonly Entry[] {
  return Object.entries(types).map(([key, [said, type]]) =>
    there(`${key}: ${said}`, { check: "library", shape, key, type }),
  );
}

const tested = (what: string, file: string, name: string): Entry =>
  there(what, { check: "test", file: `packages/history/test/${file}`, name });

const summary = {
  id: ["string", "string"],
  projectPath: ["string", "string"],
  summary: ["string | null", "string or null"],
  timestamp: ["Date", "date"],
  lastActivityAt: ["Date", "date"],
  messageCount: ["number", "number"],
  agentIds: ["string[]", "array"],
} as const;

const inMessages = (what: string, type: string): Entry =>
  there(what, {
    check: "format",
    schema: "Line",
    field: "",
    values: [{ type, summary: "s", message: { content: "" }, messageId: "m", snapshot: { trackedFileBackups: {} } }],
  });

export const history: ConformanceList = {
  part: "History",
  specification: "001",
  title: "Data model of a library over Claude Code's history",
  lines: [
    ...section("Session", [
      ...fields("Session", {
        ...summary,
        encodedPath: ["string", "string"],
        messages: ["Message[]", "array"],
        version: ["string", "string"],
        gitBranch: ["string | null", "string or null"],
      }),
      departure(
        "projectPath is decoded from the folder's name",
        "The encoding cannot be undone, because every character but letters and digits is a dash. The path comes from the lines (cwd). A path guessed from the folder's name is marked.",
        { check: "library", shape: "Session", key: "projectPathSource", type: "string" },
      ),
      departure(
        "summary: title from the summary entry",
        "Claude Code now keeps titles in other lines too. A summary line is one of several sources.",
        { check: "library", shape: "Session", key: "summary", type: "string or null" },
      ),
      there("id: UUID, globally unique", {
        check: "format",
        schema: "Uuid",
        field: "",
        values: ["be74c085-8d87-49a7-9100-7f0e83f29a10"],
      }),
      departure(
        "sessions are immutable",
        "The library changes no session, except migrate, which moves files. The specification has migrate too.",
      ),
    ]),
    ...section("SessionSummary", fields("SessionSummary", summary)),
    ...section("Message", [
      ...fields("Message", {
        uuid: ["string", "string"],
        parentUuid: ["string | null", "string or null"],
        type: ["MessageType", "string"],
        timestamp: ["Date", "date"],
        content: ["MessageContent", "any"],
      }),
      departure(
        "uuid: unique message identifier",
        "A line without a uuid (summary, snapshot) is named line:<number>.",
        {
          check: "library",
          shape: "Message",
          key: "uuid",
          type: "string",
        },
      ),
      inMessages("MessageType 'user'", "user"),
      inMessages("MessageType 'assistant'", "assistant"),
      inMessages("MessageType 'summary'", "summary"),
      inMessages("MessageType 'file-history-snapshot'", "file-history-snapshot"),
      departure("no other types", "Lines of unknown types are kept."),
    ]),
    ...section("UserMessage", [
      ...fields("UserMessage", {
        role: ["'user'", "string"],
        content: ["string | ToolResult[]", "any"],
        cwd: ["string", "string"],
        gitBranch: ["string | null", "string or null"],
        isSidechain: ["boolean", "boolean"],
      }),
    ]),
    ...section("AssistantMessage", [
      ...fields("AssistantMessage", {
        role: ["'assistant'", "string"],
        model: ["string", "string"],
        content: ["AssistantContent[]", "array"],
        stopReason: ["string | null", "string or null"],
        usage: ["TokenUsage", "object"],
      }),
      ...fields("TextContent", { text: ["TextContent { type: 'text', text }", "string"] }),
      ...fields("ToolUseContent", {
        id: ["ToolUseContent", "string"],
        name: ["ToolUseContent", "string"],
        input: ["ToolUseContent, object", "object"],
      }),
      ...fields("ThinkingContent", { thinking: ["ThinkingContent { type: 'thinking', thinking }", "string"] }),
    ]),
    ...section("ToolResult", [
      ...fields("ToolResult", {
        type: ["'tool_result'", "string"],
        toolUseId: ["string", "string"],
        content: ["string", "string"],
        isError: ["boolean", "boolean"],
      }),
      departure(
        "content is the whole result",
        "Real results are often lists of blocks. content is their text, parts has the blocks.",
      ),
    ]),
    ...section(
      "ToolCall",
      fields("ToolCall", {
        id: ["string", "string"],
        name: ["string", "string"],
        input: ["object", "object"],
        result: ["string | null", "string or null"],
        isError: ["boolean", "boolean"],
      }),
    ),
    ...section(
      "AgentSession",
      fields("AgentSession", {
        agentId: ["string", "string"],
        parentSessionId: ["string", "string"],
        prompt: ["string", "string"],
        model: ["string", "string"],
        messages: ["Message[]", "array"],
        totalDurationMs: ["number", "number"],
        totalTokens: ["number", "number"],
        totalToolUseCount: ["number", "number"],
      }),
    ),
    ...section(
      "TokenUsage",
      fields("TokenUsage", {
        inputTokens: ["number", "number"],
        outputTokens: ["number", "number"],
        cacheCreationInputTokens: ["number", "number"],
        cacheReadInputTokens: ["number", "number"],
      }),
    ),
    ...section("LibraryConfig", [
      there("dataPath: string?, found by itself", {
        check: "export",
        module: "@skein/history",
        name: "getDefaultDataPath",
      }),
      tested(
        "workspace: string?, all",
        "discover-and-list.test.ts",
        "takes the project from the session's lines, not from the folder name, and filters by its path",
      ),
      there("limit: number?, 50", { check: "export", module: "@skein/history", name: "defaultPage.limit", value: 50 }),
      there("offset: number?, 0", { check: "export", module: "@skein/history", name: "defaultPage.offset", value: 0 }),
      there("context: number?, 2", {
        check: "export",
        module: "@skein/history",
        name: "defaultPage.context",
        value: 2,
      }),
    ]),
    ...section("PaginatedResult", [
      ...fields("PaginatedResult", { data: ["T[]", "array"], pagination: ["Pagination", "object"] }),
      ...fields("Pagination", {
        total: ["number", "number"],
        limit: ["number", "number"],
        offset: ["number", "number"],
        hasMore: ["boolean", "boolean"],
      }),
    ]),
    ...section(
      "SearchMatch",
      fields("SearchMatch", {
        sessionId: ["string", "string"],
        messageUuid: ["string", "string"],
        messageType: ["MessageType", "string"],
        match: ["string", "string"],
        context: ["string[]", "array"],
        lineNumber: ["number", "number"],
      }),
    ),
    ...section("MigrateConfig", [
      tested("sessions: number | string | (number | string)[]", "migrate.test.ts", COPIED),
      tested("destination: string", "migrate.test.ts", COPIED),
      tested("mode: 'copy' | 'move', copy by default", "migrate.test.ts", COPIED),
      tested("MigrateWorkspaceConfig.source: string", "migrate.test.ts", WHOLE),
      tested("MigrateWorkspaceConfig.destination: string", "migrate.test.ts", WHOLE),
      tested("MigrateWorkspaceConfig.mode: 'copy' | 'move', copy by default", "migrate.test.ts", WHOLE),
      tested("MigrateResult.successCount: number", "migrate-disk.test.ts", FULL),
      tested("MigrateResult.failedCount: number", "migrate-disk.test.ts", FULL),
      tested("MigrateResult.errors: MigrateError[]", "migrate-disk.test.ts", FULL),
    ]),
    ...section("Error types", [
      ...fields("SessionNotFoundError", {
        name: ["'SessionNotFoundError'", "string"],
        sessionId: ["string | number", "string"],
      }),
      ...fields("WorkspaceNotFoundError", {
        name: ["'WorkspaceNotFoundError'", "string"],
        workspace: ["string", "string"],
      }),
      ...fields("DataNotFoundError", { name: ["'DataNotFoundError'", "string"], dataPath: ["string", "string"] }),
    ]),
    ...section("Relationships", [
      there("a session has messages", { check: "library", shape: "Session", key: "messages", type: "array" }),
      there("a session names its agents", { check: "library", shape: "Session", key: "agentIds", type: "array" }),
      there("an agent session names its parent", {
        check: "library",
        shape: "AgentSession",
        key: "parentSessionId",
        type: "string",
      }),
    ]),
    ...section("File mapping", [
      there("Session: ~/.claude/projects/<encoded>/<uuid>.jsonl", {
        check: "library",
        shape: "Session",
        key: "id",
        type: "string",
      }),
      there("AgentSession: ~/.claude/projects/<encoded>/agent-<id>.jsonl", {
        check: "library",
        shape: "AgentSession",
        key: "agentId",
        type: "string",
      }),
      departure(
        "SessionSummary: first line of the session's file (type: summary)",
        "A title may be anywhere in the file; see Session, summary.",
        { check: "library", shape: "SessionSummary", key: "summary", type: "string or null" },
      ),
    ]),
  ],
};
