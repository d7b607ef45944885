/**
 * `@skein/history`: the sessions that Claude Code and other coding agents leave on a machine. The functions that
 * migrate sessions, undo a migration or restore a session write to Claude Code's data directory; all other functions
 * only read the agents' data. docs/guides/history.md has an example for library users.
 */
export type { ArchiveOptions, ArchiveResult } from "./archive/archive.ts";
export type { RestoreOptions, RestoreResult } from "./archive/restore.ts";
export type { CarriedSession } from "./carry/carry-session.ts";
export type { LeftBehind } from "./carry/losses.ts";
export { verify, type VerifyReport } from "./check/verify.ts";
export { defaultPage, type LibraryConfig } from "./config.ts";
export { diffLines, type DiffLine } from "./diff/diff-lines.ts";
export {
  DataNotFoundError,
  isDataNotFoundError,
  isNotRestorableError,
  isQueryError,
  isSessionNotFoundError,
  isWorkspaceNotFoundError,
  QueryError,
  SessionNotFoundError,
  WorkspaceNotFoundError,
} from "./errors.ts";
export type { ExportedSession, ExportFormat, ExportOptions } from "./export/export.ts";
export { getAgentSession } from "./get/get-agent-session.ts";
export { readLineAt, type LineOptions } from "./get/line-at.ts";
export { getMessagePage, type MessagePage, type MessagePageOptions, type PlacedMessage } from "./get/message-page.ts";
export {
  activeMessages,
  agentsWithSession,
  getSession,
  getSummary,
  type GetSessionOptions,
} from "./get/get-session.ts";
export { getToolCalls, toolCallsOf } from "./get/get-tool-calls.ts";
export { getThreadMarks, type BranchPrompts, type ThreadMarks } from "./get/thread-marks.ts";
export { listSessions } from "./list/list-sessions.ts";
export { createTitles, type Titles } from "./sources/claude-code/details/title.ts";
export {
  isMigrateRefusedError,
  MigrateRefusedError,
  type MigrateConfig,
  type MigrateErrorCode,
  type MigrateOptions,
  type MigrateResult,
  type MigrateWorkspaceConfig,
} from "./migrate/types.ts";
export type { MigrationSummary, UndoOptions, UndoResult } from "./migrate/undo.ts";
export type { DataFile } from "./model/data-file.ts";
export type {
  AgentSession,
  AgentSummary,
  AssistantMessage,
  Message,
  PaginatedResult,
  Session,
  SessionSummary,
  ToolCall,
  UserMessage,
} from "./model/types.ts";
export {
  archive,
  buildIndex,
  exportAllSessions,
  exportAllSessionsToHtml,
  exportAllSessionsToJson,
  exportAllSessionsToMarkdown,
  exportSession,
  exportSessionLines,
  exportSessionToHtml,
  exportSessionToJson,
  exportSessionToMarkdown,
  listMigrations,
  migrateSession,
  migrateWorkspace,
  restoreSession,
  searchInSession,
  searchSessions,
  undoMigration,
  withArchive,
  withCarried,
} from "./on-demand.ts";
export { createRedactor, type Hidden, type RedactOptions } from "./redact/redact.ts";
export { readLines, type ReadLinesOptions } from "./scan/read-lines.ts";
export type { IndexOptions, IndexResult } from "./search/build-index.ts";
export type { SearchMatch, SearchOptions } from "./search/search.ts";
export { checkFormat, type FormatReport, type SeenType } from "./sources/claude-code/check/check-format.ts";
export { getDefaultDataPath } from "./sources/claude-code/discover/data-paths.ts";
export { discover, existingRoots } from "./sources/discover.ts";
export { encodeProjectPath } from "./sources/claude-code/discover/encode-project-path.ts";
export {
  getFileHistory,
  type FileHistory,
  type FileHistoryEntry,
  type FileVersion,
} from "./sources/claude-code/files/get-file-history.ts";
export { listPlans, type PlanFile } from "./sources/claude-code/files/plans.ts";
export { readHistory, type PromptHistory } from "./sources/claude-code/files/prompt-history.ts";
export { readStats, type StatsFile } from "./sources/claude-code/files/stats.ts";
export { listTasks, listTodos, type TaskList, type TodoList } from "./sources/claude-code/files/todos.ts";
export { branchesOf, type FileBranch } from "./sources/claude-code/transcript/branches.ts";
export { isSourceName, sourceNames, type SourceName } from "./sources/port/source.ts";
export { readOriginal, type MessageOriginal } from "./sources/read-original.ts";
export { isRecognised, recogniseSource } from "./sources/registry.ts";
export { withSources, type SourceOptions, type WithSources } from "./sources/with-sources.ts";
export { burnRateOf } from "./usage/burn-rate.ts";
export { contextTokens } from "./usage/context-size.ts";
export { getToolUsage, type ToolUsage } from "./usage/get-tool-usage.ts";
export { getUsage } from "./usage/get-usage.ts";
export type { UsageOptions } from "./usage/usage-options.ts";
export type { UsageReport, UsageTotals } from "./usage/usage-report.ts";
export type { WatchEvent } from "./watch/watch-event.ts";
export { watch, type WatchOptions } from "./watch/watch.ts";
