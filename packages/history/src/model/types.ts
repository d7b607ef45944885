/** The data model of the library. Fields of a line that the model does not have are in `raw`. */
import type { SourceName } from "../sources/port/source.ts";

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly cacheReadInputTokens: number;
}

export interface SessionSummary {
  readonly id: string;
  /** The agent of the session: `claude-code`, `codex`, … */
  readonly source: SourceName;
  readonly projectPath: string;
  /** The session's title, by Claude Code's current rule. */
  readonly summary: string | null;
  readonly timestamp: Date;
  readonly lastActivityAt: Date;
  /** User and assistant messages without side chains. An answer over several lines counts once. */
  readonly messageCount: number;
  readonly agentIds: readonly string[];
  readonly encodedPath: string;
  readonly version: string;
  readonly gitBranch: string | null;
  /** Where `projectPath` comes from. `folder` means the encoded folder name, because no line has a path. */
  readonly projectPathSource: "cwd" | "relocated" | "worktree" | "folder";
  readonly path: string;
  readonly sizeBytes: number;
  /** Whether only the archive still has this session. */
  readonly isArchived: boolean;
}

export interface Session extends SessionSummary {
  /** Every line of the transcript in order. The lines of one answer are one message. */
  readonly messages: readonly Message[];
  readonly agents: readonly AgentSummary[];
  readonly branches: readonly Branch[];
  readonly damage: readonly FileDamage[];
}

/** `user`, `assistant`, `summary`, `file-history-snapshot`, and every other type that a line can have. */
export type MessageType = "user" | "assistant" | "summary" | "file-history-snapshot" | (string & {});

export interface MessageBase {
  /** The line's id; `line:<number>` for lines without an id. */
  readonly uuid: string;
  readonly parentUuid: string | null;
  readonly timestamp: Date;
  /** True if the line has no time. If so, `timestamp` is the time of the previous line. */
  readonly timestampIsInferred: boolean;
  readonly isSidechain: boolean;
  /** Whether the message is on the active thread: not rewound, not a side chain, not before a compaction. */
  readonly isActive: boolean;
  /** Whether the message is on the thread before a compaction. The model no longer sees such a message. */
  readonly isCompacted: boolean;
  /** The number of the message's first line, from 1. */
  readonly lineNumber: number;
  readonly lineCount: number;
  /** The message's first line, unchanged. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** A line of a transcript, unchanged, and its number from 1. */
export interface RawLine {
  readonly lineNumber: number;
  readonly raw: Readonly<Record<string, unknown>>;
}

export interface UserMessage extends MessageBase {
  readonly type: "user";
  readonly role: "user";
  readonly content: string | readonly UserContent[];
  readonly cwd: string;
  readonly gitBranch: string | null;
  /** What a person typed; null for text that Claude Code wrote (results, reminders, notifications). */
  readonly humanPrompt: string | null;
}

export interface AssistantMessage extends MessageBase {
  readonly type: "assistant";
  readonly role: "assistant";
  readonly id: string | null;
  /** The ids of all lines of the message. */
  readonly lineUuids: readonly string[];
  /** The lines after the first line, unchanged. Missing if the answer has only one line. */
  readonly moreLines?: readonly RawLine[];
  readonly requestId: string | null;
  readonly model: string;
  readonly content: readonly AssistantContent[];
  readonly stopReason: string | null;
  readonly usage: TokenUsage;
}

/** A line of any other type. */
interface OtherMessage extends MessageBase {
  readonly type: MessageType;
  readonly role?: undefined;
  readonly content: unknown;
  /** A prompt that was typed while the model worked. */
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

/** A block of an unknown type, unchanged. */
interface OtherContent {
  readonly type: string & {};
  readonly [field: string]: unknown;
}

export interface ToolResult {
  readonly type: "tool_result";
  readonly toolUseId: string;
  readonly content: string;
  readonly isError: boolean;
  /** The original content, if it was not a string: text, images, references. */
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
  /** The id of the message with the call. */
  readonly messageUuid: string;
  readonly resultUuid: string | null;
  readonly durationMs: number | null;
  /** What Claude Code recorded about the result besides its text. */
  readonly toolUseResult: unknown;
  /** The subagent that the call started. */
  readonly agentId: string | null;
}

export interface AgentSummary {
  readonly agentId: string;
  readonly parentSessionId: string;
  readonly agentType: string | null;
  readonly description: string | null;
  /** The call that started the subagent. `linkedBy` says how the call was found. */
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
  /** Input, output and cache tokens of all calls, each call counted once. */
  readonly totalTokens: number;
  readonly totalToolUseCount: number;
  readonly damage: readonly FileDamage[];
}

/** A point at which a person rewound the conversation and typed another prompt. */
export interface Branch {
  /** The message to which the conversation was rewound; null for the beginning of the session. */
  readonly atUuid: string | null;
  /** The first message of each branch, the active branch last. */
  readonly childUuids: readonly string[];
}

export interface FileDamage {
  readonly path: string;
  readonly line: number;
  readonly kind: string;
  readonly message: string;
  /** The whole line as text. Missing for a line that is too long and for a file that cannot be read. */
  readonly text?: string;
}

interface Pagination {
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
  readonly hasMore: boolean;
  /** Set if there may be more matches than `total`: matches that cannot be on this page were not counted. */
  readonly totalIsAtLeast?: true;
}

export interface PaginatedResult<T> {
  readonly data: readonly T[];
  readonly pagination: Pagination;
}
