import { z } from "zod";
import { ContentBlock } from "./content-blocks.ts";
import { FileHistoryDelta, FileHistorySnapshot } from "./file-history-lines.ts";
import { TodoItem } from "./todo.ts";
import { UsageInfo } from "./usage-info.ts";

/**
 * The schemas of a transcript's lines, for Claude Code 2.0 and later.
 *
 * Every version of Claude Code may add fields and types. So every schema keeps unknown fields, and a line of an unknown
 * `type` is an `UnknownLine`.
 */

const text = z.string().nullish();
const flag = z.boolean().nullish();

/** The fields that all lines of the conversation have. */
const envelope = {
  uuid: text,
  parentUuid: text,
  logicalParentUuid: text,
  timestamp: text,
  sessionId: text,
  cwd: text,
  version: text,
  slug: text,
  gitBranch: text,
  userType: text,
  entrypoint: text,
  isSidechain: flag,
  isMeta: flag,
  agentId: text,
  promptId: text,
  sessionKind: text,
  teamName: text,
  forkedFrom: z.looseObject({ sessionId: text, messageUuid: text }).nullish(),
};

export const BaseMessage = z.looseObject({ type: z.string(), ...envelope });

export const UserLine = z.looseObject({
  type: z.literal("user"),
  ...envelope,
  message: z.looseObject({ role: z.string().optional(), content: z.union([z.string(), z.array(ContentBlock)]) }),
  toolUseResult: z.unknown().optional(),
  sourceToolAssistantUUID: text,
  sourceToolUseID: text,
  toolDenialKind: text,
  permissionMode: text,
  promptSource: text,
  origin: z.looseObject({ kind: text }).nullish(),
  turnOrigin: z.unknown().optional(),
  isCompactSummary: flag,
  isVisibleInTranscriptOnly: flag,
  thinkingMetadata: z.looseObject({ level: text, disabled: flag }).nullish(),
  todos: z.array(TodoItem).nullish(),
  planContent: text,
});

/** One content block of a model's answer. All lines of an answer have the same `message.id`. */
export const AssistantLine = z.looseObject({
  type: z.literal("assistant"),
  ...envelope,
  message: z.looseObject({
    id: text,
    model: text,
    role: z.string().optional(),
    content: z.union([z.array(ContentBlock), z.string()]),
    stop_reason: text,
    stop_sequence: text,
    usage: UsageInfo.nullish(),
  }),
  requestId: text,
  apiBlockIndex: z.number().nullish(),
  effort: z.unknown().optional(),
  isApiErrorMessage: flag,
  /** The SQL specification puts this field here. Real files have it on the user line that contains the tool result. */
  toolUseResult: z.unknown().optional(),
});

export const SystemLine = z.looseObject({
  type: z.literal("system"),
  ...envelope,
  subtype: text,
  content: z.unknown().optional(),
  level: text,
  compactMetadata: z.looseObject({ trigger: text, preTokens: z.number().nullish() }).nullish(),
});

const AttachmentLine = z.looseObject({
  type: z.literal("attachment"),
  ...envelope,
  attachment: z.looseObject({ type: z.string() }),
});

/** Claude Code 2.1.12 to 2.1.8x wrote these lines. `agent_progress` contains a line of a subagent. */
const ProgressLine = z.looseObject({
  type: z.literal("progress"),
  ...envelope,
  data: z.looseObject({ type: z.string().optional() }),
  parentToolUseID: text,
  toolUseID: text,
});

export const SummaryLine = z.looseObject({ type: z.literal("summary"), summary: z.string(), leafUuid: text });

export const QueueOperationLine = z.looseObject({
  type: z.literal("queue-operation"),
  operation: z.enum(["enqueue", "dequeue", "remove", "popAll"]).or(z.string()),
  timestamp: text,
  sessionId: text,
  content: z.union([z.string(), z.array(z.unknown())]).nullish(),
  reason: text,
});

const CustomTitleLine = z.looseObject({ type: z.literal("custom-title"), customTitle: text });

const AiTitleLine = z.looseObject({ type: z.literal("ai-title"), aiTitle: text });

const LastPromptLine = z.looseObject({ type: z.literal("last-prompt"), lastPrompt: text, leafUuid: text });

/** The cost of the session so far, as Claude Code computed it. Skein shows this cost, but does not use it for totals. */
const CostStateLine = z.looseObject({
  type: z.literal("cost-state"),
  totalCostUSD: z.number().nullish(),
  modelUsage: z.record(z.string(), z.looseObject({})).nullish(),
  hasUnknownModelCost: flag,
});

const RelocatedLine = z.looseObject({ type: z.literal("relocated"), relocatedCwd: text });

const WorktreeStateLine = z.looseObject({
  type: z.literal("worktree-state"),
  worktreeSession: z.looseObject({ originalCwd: text, worktreePath: text }).nullish(),
});

/** A line of a type without a schema: metadata lines, the workflow journal, and types of newer versions. */
const UnknownLine = z.looseObject({ type: z.string().optional() });

export const lineSchemas = {
  user: UserLine,
  assistant: AssistantLine,
  system: SystemLine,
  attachment: AttachmentLine,
  progress: ProgressLine,
  summary: SummaryLine,
  "queue-operation": QueueOperationLine,
  "file-history-snapshot": FileHistorySnapshot,
  "file-history-delta": FileHistoryDelta,
  "custom-title": CustomTitleLine,
  "ai-title": AiTitleLine,
  "last-prompt": LastPromptLine,
  "cost-state": CostStateLine,
  relocated: RelocatedLine,
  "worktree-state": WorktreeStateLine,
} as const;

export const Line = z.union([...Object.values(lineSchemas), UnknownLine] as const);
