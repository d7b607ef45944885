import { ContentBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock } from "./content-blocks.ts";
import { FileHistoryDelta, FileHistorySnapshot } from "./file-history-lines.ts";
import {
  AssistantLine,
  BaseMessage,
  Line,
  QueueOperationLine,
  SummaryLine,
  SystemLine,
  UserLine,
  lineSchemas,
} from "./lines.ts";
import { DailyStats, HistoryEntry, StatsCache } from "./other-files.ts";
import { BackupFileName, EncodedProjectPath, IsoTimestamp, ShortAgentId, Slug, Uuid } from "./patterns.ts";
import { Plan } from "./plan.ts";
import { TodoFile, TodoItem } from "./todo.ts";
import {
  BashInput,
  EditInput,
  GlobInput,
  ReadInput,
  TaskInput,
  TodoWriteInput,
  WebFetchInput,
  WriteInput,
} from "./tool-inputs.ts";
import { UsageInfo } from "./usage-info.ts";

/** The schemas of Claude Code's files by name: lines, content blocks, tool inputs, other files, value patterns. */
export const schemas = {
  AssistantLine,
  BackupFileName,
  BaseMessage,
  BashInput,
  ContentBlock,
  DailyStats,
  EditInput,
  EncodedProjectPath,
  FileHistoryDelta,
  FileHistorySnapshot,
  GlobInput,
  HistoryEntry,
  IsoTimestamp,
  Line,
  Plan,
  QueueOperationLine,
  ReadInput,
  ShortAgentId,
  Slug,
  StatsCache,
  SummaryLine,
  SystemLine,
  TaskInput,
  TextBlock,
  ThinkingBlock,
  TodoFile,
  TodoItem,
  TodoWriteInput,
  ToolResultBlock,
  ToolUseBlock,
  UsageInfo,
  UserLine,
  Uuid,
  WebFetchInput,
  WriteInput,
  lines: lineSchemas,
} as const;
