/**
 * Reads the rows of Claude Code's small files (all files except transcripts) and the lists of sessions with the history
 * library.
 */
import { readFileSync } from "node:fs";
import type { DuckDBConnection } from "@duckdb/node-api";
import {
  type LibraryConfig,
  type SessionSummary,
  discover,
  isDataNotFoundError,
  listPlans,
  listSessions,
  listTasks,
  listTodos,
  readHistory,
  readStats,
} from "@skein/history";
import { loadRows } from "../database/load-rows.ts";
import type { SmallTable } from "../plan/named-tables.ts";

interface Source {
  readonly columns: Readonly<Record<string, string>>;
  rows(library: LibraryConfig): Promise<readonly Record<string, unknown>[]>;
}

const all = { limit: Number.POSITIVE_INFINITY } as const;

const SESSION_COLUMNS = {
  session_id: "VARCHAR",
  project_path: "VARCHAR",
  title: "VARCHAR",
  started_at: "TIMESTAMP",
  last_activity_at: "TIMESTAMP",
  message_count: "INTEGER",
  agent_count: "INTEGER",
  version: "VARCHAR",
  git_branch: "VARCHAR",
  size_bytes: "BIGINT",
  file: "VARCHAR",
} as const;

function sessionRow(session: SessionSummary): Readonly<Record<keyof typeof SESSION_COLUMNS, unknown>> {
  return {
    session_id: session.id,
    project_path: session.projectPath,
    title: session.summary,
    started_at: session.timestamp,
    last_activity_at: session.lastActivityAt,
    message_count: session.messageCount,
    agent_count: session.agentIds.length,
    // The version is an empty text if no line has a version.
    version: session.version || null,
    git_branch: session.gitBranch,
    size_bytes: session.sizeBytes,
    file: session.path,
  };
}

const SOURCES: Readonly<Record<SmallTable, Source>> = {
  "main.claude_plans": {
    columns: {
      plan_name: "VARCHAR",
      slug: "VARCHAR",
      content: "VARCHAR",
      file_size: "INTEGER",
      created_at: "TIMESTAMP",
      modified_at: "TIMESTAMP",
      file: "VARCHAR",
    },
    rows: async (library) =>
      (await listPlans(library)).map(({ name, path, content, sizeBytes, createdAt, modifiedAt }) => ({
        plan_name: name,
        slug: name,
        content,
        file_size: sizeBytes,
        created_at: createdAt,
        modified_at: modifiedAt,
        file: path,
      })),
  },
  "main.claude_todos": {
    columns: {
      session_id: "VARCHAR",
      agent_id: "VARCHAR",
      todo_index: "INTEGER",
      content: "VARCHAR",
      status: "VARCHAR",
      active_form: "VARCHAR",
      file: "VARCHAR",
    },
    rows: async (library) =>
      (await listTodos(library)).flatMap(({ sessionId, agentId, items, path }) =>
        items.map(({ content, status, activeForm }, at) => ({
          session_id: sessionId,
          agent_id: agentId,
          todo_index: at,
          content,
          status,
          active_form: activeForm ?? null,
          file: path,
        })),
      ),
  },
  "main.claude_history": {
    columns: {
      timestamp: "TIMESTAMP",
      project: "VARCHAR",
      session_id: "VARCHAR",
      display: "VARCHAR",
      pasted_contents: "JSON",
      file: "VARCHAR",
      line: "BIGINT",
    },
    rows: async (library) =>
      (await readHistory({ ...library, ...all })).data.map((item) => ({
        timestamp: item.timestamp,
        project: item.project,
        session_id: item.sessionId,
        display: item.display,
        pasted_contents: item.pastedContents,
        file: item.path,
        line: item.line,
      })),
  },
  "skein.stats_cache": {
    columns: { date: "DATE", message_count: "INTEGER", session_count: "INTEGER", tool_call_count: "INTEGER" },
    rows: async (library) => {
      const days = new Map<string, { message_count: number; session_count: number; tool_call_count: number }>();
      for (const { stats } of await readStats(library)) {
        for (const { date, messageCount, sessionCount, toolCallCount } of stats.dailyActivity) {
          const day = days.get(date) ?? { message_count: 0, session_count: 0, tool_call_count: 0 };
          days.set(date, {
            message_count: day.message_count + messageCount,
            session_count: day.session_count + sessionCount,
            tool_call_count: day.tool_call_count + toolCallCount,
          });
        }
      }
      return [...days].filter(([date]) => /^\d{4}-\d\d-\d\d$/.test(date)).map(([date, day]) => ({ date, ...day }));
    },
  },
  "claude.tasks": {
    columns: {
      list_id: "VARCHAR",
      task_id: "VARCHAR",
      subject: "VARCHAR",
      description: "VARCHAR",
      status: "VARCHAR",
      active_form: "VARCHAR",
      owner: "VARCHAR",
      blocks: "JSON",
      blocked_by: "JSON",
      metadata: "JSON",
      modified_at: "TIMESTAMP",
      file: "VARCHAR",
    },
    rows: async (library) =>
      (await listTasks(library)).flatMap(({ listId, tasks }) =>
        tasks.map((task: Readonly<Record<string, unknown>>) => ({
          list_id: listId,
          task_id: task["id"],
          subject: task["subject"],
          description: task["description"] ?? null,
          status: task["status"],
          active_form: task["activeForm"] ?? null,
          owner: task["owner"] ?? null,
          blocks: task["blocks"] ?? null,
          blocked_by: task["blockedBy"] ?? null,
          metadata: task["metadata"] ?? null,
          modified_at: task["modifiedAt"],
          file: task["path"],
        })),
      ),
  },
  "claude.sessions": {
    columns: SESSION_COLUMNS,
    rows: async (library) =>
      (await sessionsOf(library)).filter(({ source }) => source.startsWith("claude-")).map(sessionRow),
  },
  "history.sessions": {
    columns: { source: "VARCHAR", ...SESSION_COLUMNS },
    rows: async (library) =>
      (await sessionsOf(library)).map((session) => ({ source: session.source, ...sessionRow(session) })),
  },
  "skein.agent_metas": {
    columns: { file: "VARCHAR", meta: "JSON" },
    // This function is asynchronous, so that its errors are rejections like the errors of the other functions.
    rows: async (library) =>
      discover(library)
        .files.filter(({ kind }) => kind === "agent")
        .flatMap(({ path }) => {
          try {
            return [{ file: path, meta: JSON.parse(readFileSync(path.replace(/\.jsonl$/, ".meta.json"), "utf8")) }];
          } catch {
            return [];
          }
        }),
  },
};

async function sessionsOf(library: LibraryConfig): Promise<readonly SessionSummary[]> {
  return (await listSessions({ ...library, ...all })).data;
}

/**
 * Replaces the rows of a table. If Claude Code has no data on this machine, the table is empty. Throws if a given
 * directory does not exist.
 */
export async function loadSmallTable(
  connection: DuckDBConnection,
  table: SmallTable,
  library: LibraryConfig,
): Promise<void> {
  const { columns, rows } = SOURCES[table];
  const found = await rows(library).catch((error: unknown): [] => {
    if (isDataNotFoundError(error) && library.dataPath === undefined) return [];
    throw error;
  });
  await loadRows(connection, table, columns, found);
}
