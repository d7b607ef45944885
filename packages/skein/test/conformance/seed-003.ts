import { type Entry, type Seed, open, section } from "./line.ts";

const HISTORY = "history";
const SQL = "SQL";

const all = (issue: string, text: string): readonly Entry[] =>
  text
    .trim()
    .split("\n")
    .map((line) => open(line.trim(), issue));

export const seed003: Seed = {
  number: "003",
  title: "Schemas of Claude Code's files, and tables over them in DuckDB",
  lines: [
    ...section(
      "BaseMessage",
      all(
        HISTORY,
        `
        type: "user" | "assistant" | "system" | "file-history-snapshot" | "queue-operation" | "summary"
        uuid?: string
        parentUuid?: string | null
        timestamp?: string
        sessionId?: string
        cwd?: string
        version?: string
        slug?: string
        gitBranch?: string
        userType?: string
        isSidechain?: boolean`,
      ),
    ),
    ...section(
      "UserMessage",
      all(
        HISTORY,
        `
        type: "user"
        message.role: "user"
        message.content: string
        thinkingMetadata.level: "high" | "medium" | "low"
        thinkingMetadata.disabled: boolean
        thinkingMetadata.triggers: string[]
        todos?: TodoItem[]`,
      ),
    ),
    ...section(
      "AssistantMessage",
      all(
        HISTORY,
        `
        type: "assistant"
        message.model: string
        message.id: string
        message.type: "message"
        message.role: "assistant"
        message.content: ContentBlock[]
        message.stop_reason: string | null
        message.stop_sequence: string | null
        message.usage: UsageInfo
        toolUseResult?: ToolResult
        UsageInfo.input_tokens: number
        UsageInfo.output_tokens: number
        UsageInfo.cache_creation_input_tokens?: number
        UsageInfo.cache_read_input_tokens?: number
        UsageInfo.cache_creation.ephemeral_5m_input_tokens?: number
        UsageInfo.cache_creation.ephemeral_1h_input_tokens?: number`,
      ),
    ),
    ...section(
      "Content blocks",
      all(
        HISTORY,
        `
        TextBlock: type "text", text
        ThinkingBlock: type "thinking", thinking, signature
        ToolUseBlock: type "tool_use", id, name, input
        ToolResultBlock: type "tool_result", tool_use_id, content string or list, is_error?`,
      ),
    ),
    ...section(
      "Tool inputs",
      all(
        HISTORY,
        `
        Bash: command
        Bash: timeout?
        Read: file_path
        Read: offset?
        Read: limit?
        Write: file_path
        Write: content
        Edit: file_path
        Edit: old_string
        Edit: new_string
        Glob: pattern
        Glob: path?
        Task: subagent_type "explore" | "task" | "general-purpose" | "code-review"
        Task: description
        Task: prompt
        TodoWrite: todos, a Markdown checklist
        WebFetch: url
        WebFetch: max_length?
        WebFetch: raw?`,
      ),
    ),
    ...section(
      "SystemMessage",
      all(
        HISTORY,
        `
        type: "system"
        subtype: "compact_boundary" | "info" | "error"
        content: string
        level: "info" | "warning" | "error"
        isMeta: boolean
        compactMetadata.trigger: string
        compactMetadata.preTokens: number
        logicalParentUuid?: string`,
      ),
    ),
    ...section(
      "FileHistorySnapshot",
      all(
        HISTORY,
        `
        type: "file-history-snapshot"
        messageId: string
        isSnapshotUpdate: boolean
        snapshot.messageId: string
        snapshot.timestamp: string
        snapshot.trackedFileBackups[path].backupFileName: string | null
        snapshot.trackedFileBackups[path].version: number
        snapshot.trackedFileBackups[path].backupTime: string`,
      ),
    ),
    ...section(
      "QueueOperation",
      all(
        HISTORY,
        `
        type: "queue-operation"
        operation: "enqueue" | "dequeue"
        timestamp: string
        sessionId: string
        content: string`,
      ),
    ),
    ...section(
      "SummaryMessage",
      all(
        HISTORY,
        `
        type: "summary"
        summary: string
        leafUuid: string`,
      ),
    ),
    ...section("AgentMessage", all(HISTORY, "agentId: string")),
    ...section(
      "History entries",
      all(
        HISTORY,
        `
        history.jsonl
        display: string
        pastedContents: object
        timestamp: number, milliseconds
        project: string
        sessionId?: string`,
      ),
    ),
    ...section(
      "Todo items",
      all(
        HISTORY,
        `
        a todo file is a JSON array
        content: string
        status: "pending" | "in_progress" | "completed"
        activeForm?: string
        <session-uuid>-agent-<agent-uuid>.json`,
      ),
    ),
    ...section(
      "Plan files",
      all(
        HISTORY,
        `
        Markdown: title, problem statement, current state, phases with tasks, notes
        <adjective>-<verb>-<noun>.md`,
      ),
    ),
    ...section(
      "Stats cache",
      all(
        HISTORY,
        `
        stats-cache.json
        version: number
        lastComputedDate: string
        dailyActivity: DailyStats[]
        DailyStats.date: string
        DailyStats.messageCount: number
        DailyStats.sessionCount: number
        DailyStats.toolCallCount: number`,
      ),
    ),
    ...section(
      "claude_conversations",
      all(
        SQL,
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
      ),
    ),
    ...section(
      "claude_plans",
      all(
        SQL,
        `
        plan_name VARCHAR PRIMARY KEY
        slug VARCHAR
        content TEXT
        file_size INTEGER
        created_at TIMESTAMP
        modified_at TIMESTAMP`,
      ),
    ),
    ...section(
      "claude_todos",
      all(
        SQL,
        `
        session_id VARCHAR
        agent_id VARCHAR
        todo_index INTEGER
        content TEXT
        status VARCHAR, 'pending', 'in_progress', 'completed'
        active_form VARCHAR
        PRIMARY KEY (session_id, agent_id, todo_index)`,
      ),
    ),
    ...section(
      "claude_history",
      all(
        SQL,
        `
        timestamp TIMESTAMP
        project VARCHAR
        session_id VARCHAR
        display TEXT
        pasted_contents JSON`,
      ),
    ),
    ...section(
      "claude_stats",
      all(
        SQL,
        `
        date DATE PRIMARY KEY
        message_count INTEGER
        session_count INTEGER
        tool_call_count INTEGER`,
      ),
    ),
    ...section(
      "Field value patterns",
      all(
        HISTORY,
        `
        UUIDs: xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        short agent ids: a[0-9a-f]{6,7}
        timestamps: ISO 8601, milliseconds in history
        project paths: /Users/me/project-name is -Users-me-project-name
        slugs: <adjective>-<verb>-<noun>
        file history backups: <content-hash>@v<version>`,
      ),
    ),
  ],
};
