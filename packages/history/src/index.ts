/**
 * `@skein/history`: Claude Code's own files. Reads everything, changes nothing.
 *
 * What a line looks like is in `@skein/history/format`.
 */
export { archive, archivedRoots, type ArchiveOptions, type ArchiveResult } from "./archive/archive.ts";
export { restoreSession, type RestoreOptions, type RestoreResult } from "./archive/restore.ts";
export { ArchiveDamageError } from "./archive/segment.ts";
export { withArchive } from "./archive/view.ts";
export { doctor, type DoctorReport, type FormProblem, type SeenType } from "./sources/claude-code/check/doctor.ts";
export { verify, type VerifyReport } from "./check/verify.ts";
export { defaultPage, getDefaultDataPath, getProjectsPath, type LibraryConfig, type Page } from "./config.ts";
export type { DataFile, Discovered, SkippedFile } from "./model/data-file.ts";
export { discover, existingRoots } from "./sources/claude-code/discover/discover.ts";
export { encodeProjectPath } from "./sources/claude-code/discover/slug.ts";
export {
  DataNotFoundError,
  isDataNotFoundError,
  isQueryError,
  isSessionNotFoundError,
  isWorkspaceNotFoundError,
  QueryError,
  SessionNotFoundError,
  WorkspaceNotFoundError,
} from "./errors.ts";
export {
  exportAllSessions,
  exportAllSessionsToHtml,
  exportAllSessionsToJson,
  exportAllSessionsToMarkdown,
  exportSession,
  exportSessionToHtml,
  exportSessionToJson,
  exportSessionToMarkdown,
  type ExportedSession,
  type ExportFormat,
  type ExportOptions,
} from "./export/export.ts";
export { diffLines, type DiffLine } from "./diff/diff-lines.ts";
export {
  getFileHistory,
  type FileHistory,
  type FileHistoryEntry,
  type FileVersion,
} from "./sources/claude-code/files/get-file-history.ts";
export { listPlans, type PlanFile } from "./sources/claude-code/files/plans.ts";
export { readHistory, type PromptHistory, type PromptHistoryItem } from "./sources/claude-code/files/prompt-history.ts";
export { readStats, type StatsFile } from "./sources/claude-code/files/stats.ts";
export { listTasks, listTodos, type TaskList, type TodoList } from "./sources/claude-code/files/todos.ts";
export { branchesOf, type FileBranch } from "./sources/claude-code/transcript/branches-of.ts";
export { getAgentSession } from "./get/get-agent-session.ts";
export { getSession, type GetSessionOptions } from "./get/get-session.ts";
export { getToolCalls, toolCallsOf } from "./get/get-tool-calls.ts";
export { listSessions } from "./list/list-sessions.ts";
export { migrateSession, migrateWorkspace } from "./migrate/migrate.ts";
export * from "./migrate/types.ts";
export {
  listMigrations,
  undoMigration,
  type MigrationSummary,
  type UndoOptions,
  type UndoResult,
} from "./migrate/undo.ts";
export type * from "./model/types.ts";
export { createRedactor, type RedactOptions } from "./redact/redact.ts";
export { readLines, type ReadLinesOptions } from "./scan/read-lines.ts";
export { buildIndex, type IndexOptions, type IndexResult } from "./search/build-index.ts";
export { searchInSession, searchSessions, type SearchMatch, type SearchOptions } from "./search/search.ts";
export { getUsage, type UsageOptions } from "./usage/get-usage.ts";
export type * from "./usage/usage-report.ts";
export type { WatchEvent } from "./watch/watch-event.ts";
export { watch, type WatchOptions } from "./watch/watch.ts";
