/** The library's own shapes, in the words of its data model. What a line had beyond them is in `raw`. */

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly cacheReadInputTokens: number;
}

export interface SessionSummary {
  readonly id: string;
  readonly projectPath: string;
  /** The session's title, by the rule of today's Claude Code. */
  readonly summary: string | null;
  readonly timestamp: Date;
  readonly lastActivityAt: Date;
  /** User and assistant messages, an answer over several lines counted once, side chains left out. */
  readonly messageCount: number;
  readonly agentIds: readonly string[];
  readonly encodedPath: string;
  readonly version: string;
  readonly gitBranch: string | null;
  /** Where `projectPath` comes from; `folder` is a guess that cannot be right for every path. */
  readonly projectPathSource: "cwd" | "relocated" | "worktree" | "folder";
  readonly path: string;
  readonly sizeBytes: number;
}

export interface Session extends SessionSummary {
  /** Every line of the transcript in its order; the lines of one answer are one message. */
  readonly messages: readonly Message[];
  readonly agents: readonly AgentSummary[];
  readonly branches: readonly Branch[];
  readonly damage: readonly FileDamage[];
}

/** `user`, `assistant`, `summary`, `file-history-snapshot`, and every other type that a line can have. */
export type MessageType = "user" | "assistant" | "summary" | "file-history-snapshot" | (string & {});

export interface MessageBase {
  /** The line's own id; for lines that have none `line:<number>`. */
  readonly uuid: string;
  readonly parentUuid: string | null;
  readonly timestamp: Date;
  /** The line has no time of its own: it is that of the line before it. */
  readonly timestampIsInferred: boolean;
  readonly isSidechain: boolean;
  /** On the active thread: neither rewound nor beside it. Text before a compaction is not, but `isCompacted` is. */
  readonly isActive: boolean;
  /** On the thread and before a compaction: the model no longer saw it. */
  readonly isCompacted: boolean;
  /** The first line of the message, from 1, and how many lines it is made of. */
  readonly lineNumber: number;
  readonly lineCount: number;
  readonly raw: Readonly<Record<string, unknown>>;
}

export interface UserMessage extends MessageBase {
  readonly type: "user";
  readonly role: "user";
  readonly content: string | readonly UserContent[];
  readonly cwd: string;
  readonly gitBranch: string | null;
  /** What a person typed; null where the machine speaks (results, reminders, notifications). */
  readonly humanPrompt: string | null;
}

export interface AssistantMessage extends MessageBase {
  readonly type: "assistant";
  readonly role: "assistant";
  readonly id: string | null;
  /** The ids of all its lines. */
  readonly lineUuids: readonly string[];
  readonly requestId: string | null;
  readonly model: string;
  readonly content: readonly AssistantContent[];
  readonly stopReason: string | null;
  readonly usage: TokenUsage;
}

/** Any other line. */
interface OtherMessage extends MessageBase {
  readonly type: MessageType;
  readonly role?: undefined;
  readonly content: unknown;
  /** A prompt that was typed in the middle of a turn. */
  readonly humanPrompt: string | null;
}

export type Message = UserMessage | AssistantMessage | OtherMessage;

interface TextContent {
  readonly type: "text";
  readonly text: string;
}

export interface ToolUseContent {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

interface ThinkingContent {
  readonly type: "thinking";
  readonly thinking: string;
}

/** A block that this version does not know: as it is. */
interface OtherContent {
  readonly type: string & {};
  readonly [field: string]: unknown;
}

export interface ToolResult {
  readonly type: "tool_result";
  readonly toolUseId: string;
  readonly content: string;
  readonly isError: boolean;
  /** The content as it was, where it was not a string: text, images, references. */
  readonly parts?: readonly unknown[];
}

export type AssistantContent = TextContent | ToolUseContent | ThinkingContent | OtherContent;
export type UserContent = TextContent | ToolResult | OtherContent;

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: object;
  readonly result: string | null;
  readonly isError: boolean;
  readonly timestamp: Date;
  /** The message with the call, and the one with the result. */
  readonly messageUuid: string;
  readonly resultUuid: string | null;
  readonly durationMs: number | null;
  /** What Claude Code kept about the result beyond its text. */
  readonly toolUseResult: unknown;
  /** The subagent that the call started. */
  readonly agentId: string | null;
}

export interface AgentSummary {
  readonly agentId: string;
  readonly parentSessionId: string;
  readonly agentType: string | null;
  readonly description: string | null;
  /** The call that started it, and how that is known. */
  readonly toolUseId: string | null;
  readonly linkedBy: "meta" | "result" | "text" | "notification" | "progress" | "prompt" | null;
  readonly parentAgentId: string | null;
  readonly workflowId: string | null;
  readonly path: string | null;
}

export interface AgentSession extends AgentSummary {
  readonly prompt: string;
  readonly model: string;
  readonly messages: readonly Message[];
  readonly totalDurationMs: number;
  /** Input, output and cache of every call, each counted once. */
  readonly totalTokens: number;
  readonly totalToolUseCount: number;
  readonly damage: readonly FileDamage[];
}

/** A point where the conversation went two ways: someone rewound and typed again. */
export interface Branch {
  /** The message that was gone back to; null for the very beginning. */
  readonly atUuid: string | null;
  /** The first message of each way, the active one last. */
  readonly childUuids: readonly string[];
}

export interface FileDamage {
  readonly path: string;
  readonly line: number;
  readonly kind: string;
  readonly message: string;
}

interface Pagination {
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
  readonly hasMore: boolean;
  /** There may be more than `total`: those that cannot be on this page were not counted. */
  readonly totalIsAtLeast?: true;
}

export interface PaginatedResult<T> {
  readonly data: readonly T[];
  readonly pagination: Pagination;
}
