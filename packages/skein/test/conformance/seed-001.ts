import { type Entry, type Seed, open, section } from "./line.ts";

const HISTORY = "history";

const all = (text: string): readonly Entry[] =>
  text
    .trim()
    .split("\n")
    .map((line) => open(line.trim(), HISTORY));

export const seed001: Seed = {
  number: "001",
  title: "Data model of a library over Claude Code's history",
  lines: [
    ...section(
      "Session",
      all(`
        id: string, from the file's name
        projectPath: string
        encodedPath: string
        summary: string | null
        timestamp: Date, of the first message
        lastActivityAt: Date
        messageCount: number
        messages: Message[]
        agentIds: string[]
        version: string
        gitBranch: string | null
        id is globally unique
        sessions are read only`),
    ),
    ...section(
      "SessionSummary",
      all(`
        id: string
        projectPath: string
        summary: string | null
        timestamp: Date
        lastActivityAt: Date
        messageCount: number
        agentIds: string[]`),
    ),
    ...section(
      "Message",
      all(`
        uuid: string
        parentUuid: string | null
        type: MessageType
        timestamp: Date
        content: MessageContent
        MessageType 'user'
        MessageType 'assistant'
        MessageType 'summary'
        MessageType 'file-history-snapshot'`),
    ),
    ...section(
      "UserMessage",
      all(`
        role: 'user'
        content: string | ToolResult[]
        cwd: string
        gitBranch: string | null
        isSidechain: boolean`),
    ),
    ...section(
      "AssistantMessage",
      all(`
        role: 'assistant'
        model: string
        content: AssistantContent[]
        stopReason: string | null
        usage: TokenUsage
        TextContent: { type: 'text', text }
        ToolUseContent: { type: 'tool_use', id, name, input }
        ThinkingContent: { type: 'thinking', thinking }`),
    ),
    ...section(
      "ToolResult",
      all(`
        type: 'tool_result'
        toolUseId: string
        content: string
        isError: boolean`),
    ),
    ...section(
      "ToolCall",
      all(`
        id: string
        name: string
        input: object
        result: string | null
        isError: boolean`),
    ),
    ...section(
      "AgentSession",
      all(`
        agentId: string
        parentSessionId: string
        prompt: string
        model: string
        messages: Message[]
        totalDurationMs: number
        totalTokens: number
        totalToolUseCount: number`),
    ),
    ...section(
      "TokenUsage",
      all(`
        inputTokens: number
        outputTokens: number
        cacheCreationInputTokens: number
        cacheReadInputTokens: number`),
    ),
    ...section(
      "LibraryConfig",
      all(`
        dataPath: string?, found by itself
        workspace: string?, all
        limit: number?, 50
        offset: number?, 0
        context: number?, 2`),
    ),
    ...section(
      "PaginatedResult",
      all(`
        data: T[]
        pagination: Pagination
        Pagination.total: number
        Pagination.limit: number
        Pagination.offset: number
        Pagination.hasMore: boolean`),
    ),
    ...section(
      "SearchMatch",
      all(`
        sessionId: string
        messageUuid: string
        messageType: MessageType
        match: string
        context: string[]
        lineNumber: number`),
    ),
    ...section(
      "MigrateConfig",
      all(`
        sessions: number | string | (number | string)[]
        destination: string
        mode: 'copy' | 'move', copy by default
        MigrateWorkspaceConfig.source: string
        MigrateWorkspaceConfig.destination: string
        MigrateWorkspaceConfig.mode: 'copy' | 'move', copy by default
        MigrateResult.successCount: number
        MigrateResult.failedCount: number
        MigrateResult.errors: MigrateError[]`),
    ),
    ...section(
      "Error types",
      all(`
        SessionNotFoundError: name
        SessionNotFoundError: sessionId
        WorkspaceNotFoundError: name
        WorkspaceNotFoundError: workspace
        DataNotFoundError: name
        DataNotFoundError: dataPath`),
    ),
    ...section(
      "Relationships",
      all(`
        a session has messages
        a session names its agents; an agent session names its parent`),
    ),
    ...section(
      "File mapping",
      all(`
        Session: ~/.claude/projects/<encoded>/<uuid>.jsonl
        AgentSession: ~/.claude/projects/<encoded>/agent-<id>.jsonl
        SessionSummary: first line of the session's file (type: summary)`),
    ),
  ],
};
